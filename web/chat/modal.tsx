import { useEffect, useRef } from 'preact/hooks';
import type { FieldValue, ShownModal } from '../../sdk/interactions/person.ts';
import type { Chat } from './chat.ts';

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
  readonly max_values?: number;
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

/** The form that an application has opened. */
export function Modal({ modal, chat }: { readonly modal: ShownModal; readonly chat: Chat }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const fields = fieldsIn(modal.components);
  const submit = (form: HTMLFormElement): void => {
    const data = new FormData(form);
    const values = fields.flatMap((field): readonly (readonly [string, FieldValue])[] => {
      const { custom_id: id, type } = field;
      if (id === undefined) return [];
      if (type === CHECKBOX) return [[id, data.has(id)]];
      const given = data.getAll(id).map(String);
      if (type === TEXT_INPUT || type === RADIO_GROUP) return given[0] === undefined ? [] : [[id, given[0]]];
      return [[id, given]];
    });
    void chat.submit(modal, Object.fromEntries(values));
  };
  return (
    <dialog ref={dialog} aria-label={modal.title} onCancel={() => chat.dropModal()}>
      <h2>{modal.title}</h2>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          submit(event.currentTarget);
        }}
      >
        {fields.map((field, index) => (
          <FormField key={field.custom_id ?? index} field={field} label={field.shownAs} />
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

function FormField({ field, label }: { readonly field: Field; readonly label: string }) {
  const { type, custom_id: name = '', required = true, options, max_values: max = 1 } = field;
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
