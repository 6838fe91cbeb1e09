import { useEffect, useRef } from 'preact/hooks';
import type { OptionFile } from '../../sdk/interactions/invocation.ts';
import type { FieldValue, ShownModal } from '../../sdk/interactions/person.ts';
import type { Chat } from './chat.ts';
import { entitiesOf, type Known } from './entities.ts';

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
    readonly default?: boolean;
  }[];
  readonly component?: object;
  readonly components?: readonly object[];
}

const TEXT_INPUT = 4;
const TEXT = 10;
const FILE_UPLOAD = 19;
const RADIO_GROUP = 21;
const CHECKBOX = 23;
const PARAGRAPH = 2;

const isField = (one: object): one is Field => 'type' in one;

/** All fields with a custom id, with the label around each. */
function fieldsIn(
  components: readonly object[],
  label = '',
): readonly (Field & { readonly shownAs: string })[] {
  return components.filter(isField).flatMap((one) => {
    const shownAs = one.label ?? label;
    const inner = [...(one.components ?? []), ...(one.component ? [one.component] : [])];
    return [
      ...(one.custom_id === undefined && one.type !== TEXT ? [] : [{ ...one, shownAs }]),
      ...fieldsIn(inner, shownAs),
    ];
  });
}

interface ModalProps {
  readonly modal: ShownModal;
  readonly chat: Chat;
  readonly known: Known;
}

/** The form that an application has opened. */
export function Modal({ modal, chat, known }: ModalProps) {
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
          <FormField key={field.custom_id ?? index} field={field} label={field.shownAs} known={known} />
        ))}
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
  readonly field: Field;
  readonly label: string;
  readonly known: Known;
}

function FormField({ field, label, known }: FormFieldProps) {
  const { type, custom_id: name = '', required = true, max_values: max = 1 } = field;
  const options = entitiesOf(field, known) ?? field.options;
  if (type === TEXT) return <p>{field.content}</p>;
  if (type === CHECKBOX)
    return (
      <label>
        <input type="checkbox" name={name} /> {label}
      </label>
    );
  const id = `field-${name}`;
  if (options !== undefined)
    return (
      <div class="field">
        <label for={id}>{label}</label>
        <select id={id} name={name} required={required} multiple={type !== RADIO_GROUP && max > 1}>
          {options.map((option) => (
            <option key={option.value} value={option.value} selected={option.default === true}>
              {option.label}
            </option>
          ))}
        </select>
      </div>
    );
  if (type === FILE_UPLOAD)
    return (
      <div class="field">
        <label for={id}>{label}</label>
        <input type="file" id={id} name={name} required={required} multiple={max > 1} />
      </div>
    );
  const text = {
    ...{ id, name, required, defaultValue: field.value ?? '', placeholder: field.placeholder ?? '' },
    ...(field.min_length !== undefined && { minLength: field.min_length }),
    ...(field.max_length !== undefined && { maxLength: field.max_length }),
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {field.style === PARAGRAPH ? <textarea rows={4} {...text} /> : <input type="text" {...text} />}
    </div>
  );
}
