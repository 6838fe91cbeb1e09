import { useEffect, useRef } from 'preact/hooks';
import type { OptionFile } from '../../sdk/interactions/invocation.ts';
import type { FieldValue, ShownModal } from '../../sdk/interactions/person.ts';
import type { Chat } from './chat.ts';
import { entitiesOf, type GuildEntities } from './entities.ts';
import { Formatted, type Names } from './formatted.tsx';

/** A field of a form, or the label around it. */
interface Field {
  readonly type: number;
  readonly custom_id?: string;
  readonly label?: string;
  readonly description?: string;
  readonly style?: number;
  readonly value?: string;
  readonly placeholder?: string;
  readonly required?: boolean;
  readonly min_length?: number;
  readonly max_length?: number;
  readonly min_values?: number;
  readonly max_values?: number;
  readonly channel_types?: readonly number[];
  readonly default_values?: readonly { readonly id: string }[];
  readonly content?: string;
  readonly options?: readonly {
    readonly label: string;
    readonly value: string;
    readonly description?: string;
    readonly default?: boolean;
  }[];
  readonly default?: boolean;
  readonly file_types?: readonly string[];
  readonly component?: object;
  readonly components?: readonly object[];
}

const TEXT_INPUT = 4;
const TEXT = 10;
const FILE_UPLOAD = 19;
const RADIO_GROUP = 21;
const CHECKBOX_GROUP = 22;
const CHECKBOX = 23;
const PARAGRAPH = 2;

const isField = (one: object): one is Field => 'type' in one;

/** What the label around a field says. */
interface Around {
  readonly label: string;
  readonly help: string;
}

type ShownField = Field & { readonly around: Around };

/** All fields with a custom id, with the label around each. */
function fieldsIn(
  components: readonly object[],
  outer: Around = { label: '', help: '' },
): readonly ShownField[] {
  return components.filter(isField).flatMap((one) => {
    const around = { label: one.label ?? outer.label, help: one.description ?? outer.help };
    const inner = [...(one.components ?? []), ...(one.component ? [one.component] : [])];
    return [
      ...(one.custom_id === undefined && one.type !== TEXT ? [] : [{ ...one, around }]),
      ...fieldsIn(inner, around),
    ];
  });
}

interface ModalProps {
  readonly modal: ShownModal;
  readonly chat: Chat;
  readonly known: GuildEntities;
  readonly names: Names;
  /** Why the form could not be sent. */
  readonly complaint: string | null;
}

/** The form that an application has opened. */
export function Modal({ modal, chat, known, names, complaint }: ModalProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const fields = fieldsIn(modal.components);
  const submit = async (form: HTMLFormElement): Promise<void> => {
    const data = new FormData(form);
    const values: Record<string, FieldValue> = {};
    for (const { custom_id: id, type } of fields)
      if (id !== undefined) values[id] = await givenFor(type, id, data);
    await chat.submit(modal, values);
  };
  return (
    <dialog ref={dialog} aria-label={modal.title} onCancel={() => chat.dropModal()}>
      <h2>{modal.title}</h2>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void submit(event.currentTarget);
        }}
      >
        {fields.map((field, index) => (
          <FormField key={field.custom_id ?? index} field={field} known={known} names={names} />
        ))}
        {complaint !== null && (
          <p class="notice bad" role="alert">
            {complaint}
          </p>
        )}
        <div class="buttons">
          <button type="submit">Send</button>
          <button type="button" class="quiet" onClick={() => chat.dropModal()}>
            Cancel
          </button>
        </div>
      </form>
    </dialog>
  );
}

/** What the person has given for a field; null leaves it empty. */
async function givenFor(type: number, id: string, data: FormData): Promise<FieldValue> {
  if (type === CHECKBOX) return data.has(id);
  const given = data.getAll(id);
  if (type === FILE_UPLOAD) return Promise.all(given.flatMap((one) => (isFile(one) ? readFile(one) : [])));
  const [text] = given;
  if (type === TEXT_INPUT || type === RADIO_GROUP) return text === undefined ? null : String(text);
  return given.map(String).filter((one) => one !== '');
}

/** A field of files that was left empty has one without a name. */
const isFile = (value: FormDataEntryValue): value is File => typeof value !== 'string' && value.name !== '';

const readFile = async (file: File): Promise<OptionFile> => ({
  ...{ filename: file.name, bytes: new Uint8Array(await file.arrayBuffer()) },
});

interface FormFieldProps {
  readonly field: ShownField;
  readonly known: GuildEntities;
  readonly names: Names;
}

/** A field, or a text between fields. */
function FormField({ field, known, names }: FormFieldProps) {
  const { type, custom_id: name = '', around } = field;
  if (type === TEXT) return <Formatted text={field.content ?? ''} names={names} />;
  if (type === RADIO_GROUP || type === CHECKBOX_GROUP) return <Group field={field} />;
  const id = `field-${name}`;
  const help = around.help === '' ? undefined : `${id}-help`;
  if (type === CHECKBOX)
    return (
      <div class="field">
        <label>
          <input
            type="checkbox"
            name={name}
            defaultChecked={field.default === true}
            aria-describedby={help}
          />{' '}
          {around.label}
        </label>
        <Help id={help} text={around.help} />
      </div>
    );
  return (
    <div class="field">
      <label for={id}>{around.label}</label>
      <Help id={help} text={around.help} />
      <Control field={field} id={id} help={help} known={known} />
    </div>
  );
}

const Help = ({ id, text }: { readonly id: string | undefined; readonly text: string }) =>
  id === undefined ? null : (
    <p class="dim small" id={id}>
      {text}
    </p>
  );

/** Choices that are all in sight: one of them, or several. */
function Group({ field }: { readonly field: ShownField }) {
  const { type, custom_id: name = '', required = true, options = [], around } = field;
  const isRadio = type === RADIO_GROUP;
  return (
    <fieldset class="field">
      <legend>{around.label}</legend>
      <Help id={around.help === '' ? undefined : `field-${name}-help`} text={around.help} />
      {options.map((option) => (
        <label key={option.value}>
          <input
            type={isRadio ? 'radio' : 'checkbox'}
            name={name}
            value={option.value}
            required={isRadio && required}
            defaultChecked={option.default === true}
          />{' '}
          {option.label}
          {option.description && <span class="dim small"> {option.description}</span>}
        </label>
      ))}
    </fieldset>
  );
}

interface ControlProps {
  readonly field: ShownField;
  readonly id: string;
  /** Id of the element that describes the field. */
  readonly help: string | undefined;
  readonly known: GuildEntities;
}

/** A select, files, or a text. */
function Control({ field, id, help, known }: ControlProps) {
  const { type, custom_id: name, required = true, max_values: max = 1 } = field;
  const shared = { id, name, required, 'aria-describedby': help };
  const options = entitiesOf(field, known) ?? field.options;
  if (options !== undefined)
    return (
      <select {...shared} multiple={max > 1}>
        {max === 1 && <option value="">{field.placeholder ?? 'Choose …'}</option>}
        {options.map((option) => (
          <option key={option.value} value={option.value} selected={option.default === true}>
            {option.label}
          </option>
        ))}
      </select>
    );
  if (type === FILE_UPLOAD) {
    const accept = field.file_types?.map((one) => (one.startsWith('.') ? one : `${one}/*`)).join(',');
    return <input type="file" {...shared} multiple={max > 1} accept={accept} />;
  }
  const text = {
    ...{ ...shared, defaultValue: field.value ?? '', placeholder: field.placeholder ?? '' },
    ...(field.min_length !== undefined && { minLength: field.min_length }),
    ...(field.max_length !== undefined && { maxLength: field.max_length }),
  };
  return field.style === PARAGRAPH ? <textarea rows={4} {...text} /> : <input type="text" {...text} />;
}
