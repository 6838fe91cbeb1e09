import { useMemo, useState } from 'preact/hooks';
import { messageOf } from '../../protocol/thrown.ts';
import { isJson, type Json } from '../../sdk/voice/wire.ts';
import { type Admin, list, text } from './admin.ts';
import { type BodyField, bodyFields, bodyOutline } from './bodyfields.ts';
import { Complaint, useLoaded } from './parts.tsx';

interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly params: readonly string[];
  readonly query: readonly string[];
  readonly hasBody: boolean;
  readonly fields: readonly BodyField[];
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

/** The operations of an OpenAPI document, by their names. */
function operationsIn(document: Json | null): readonly Operation[] {
  const paths = isJson(document?.paths) ? document.paths : {};
  return Object.entries(paths)
    .flatMap(([path, item]) =>
      METHODS.flatMap((method) => {
        const declared = isJson(item) ? item[method] : undefined;
        if (!isJson(declared) || typeof declared.operationId !== 'string') return [];
        const named = (place: string) =>
          list(declared.parameters)
            .filter((one) => one.in === place)
            .map((one) => text(one.name));
        return [
          {
            ...{ id: declared.operationId, method: method.toUpperCase(), path },
            summary: text(declared.summary ?? declared.description),
            params: [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? ''),
            query: named('query'),
            hasBody: declared.requestBody !== undefined,
            fields: bodyFields(document ?? {}, declared.requestBody),
          },
        ];
      }),
    )
    .sort((a, b) => a.id.localeCompare(b.id));
}

/** Calls any declared operation as any user. */
export function Explorer({ admin }: { readonly admin: Admin }) {
  const { body, complaint } = useLoaded(() => admin.get('/openapi.json'), 'openapi');
  const [words, setWords] = useState('');
  const [chosen, setChosen] = useState<string | null>(null);
  const all = useMemo(() => operationsIn(body), [body]);
  const wanted = words.trim().toLowerCase();
  const shown = all.filter(({ id, path }) => `${id} ${path}`.toLowerCase().includes(wanted));
  const operation = all.find(({ id }) => id === chosen);
  return (
    <>
      <h2>API explorer</h2>
      <Complaint text={complaint} />
      <div class="explorer">
        <div class="operations">
          <input
            type="search"
            aria-label="Find an operation"
            placeholder={`Find one of ${all.length} operations`}
            value={words}
            onInput={({ currentTarget }) => setWords(currentTarget.value)}
          />
          <ul aria-label="Operations">
            {shown.slice(0, 200).map(({ id, method }) => (
              <li key={id}>
                <button
                  type="button"
                  class="entry"
                  aria-current={id === chosen ? 'true' : undefined}
                  onClick={() => setChosen(id)}
                >
                  <span class="verb">{method}</span> {id}
                </button>
              </li>
            ))}
          </ul>
        </div>
        {operation === undefined ? (
          <p class="dim center">Choose an operation.</p>
        ) : (
          <Caller key={operation.id} admin={admin} operation={operation} />
        )}
      </div>
    </>
  );
}

function Caller({ admin, operation }: { readonly admin: Admin; readonly operation: Operation }) {
  const [answer, setAnswer] = useState<Json | null>(null);
  const [complaint, setComplaint] = useState<string | null>(null);
  const { id, method, path, summary, params, query, hasBody, fields } = operation;
  const submit = async (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }): Promise<void> => {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    const given = (prefix: string, names: readonly string[]) =>
      Object.fromEntries(
        names
          .map((name) => [name, String(data.get(prefix + name) ?? '')])
          .filter(([, value]) => value !== ''),
      );
    try {
      setComplaint(null);
      const body = String(data.get('body') ?? '').trim();
      const asked = {
        ...{ operation: id, as: String(data.get('as') ?? '').trim() || null },
        ...{ params: given('param-', params), query: given('query-', query) },
        ...(body !== '' && { body: JSON.parse(body) }),
      };
      setAnswer(await admin.post('/operations', asked));
    } catch (error) {
      setComplaint(messageOf(error));
    }
  };
  return (
    <form class="card form" aria-label={id} onSubmit={(event) => void submit(event)}>
      <h3>
        <code>
          {method} {path}
        </code>
      </h3>
      {summary !== '' && <p class="dim">{summary}</p>}
      {method !== 'GET' && (
        <p class="notice">This changes something, as if the user had done it. It is written to the trail.</p>
      )}
      <Field name="as" label="Call as (id of a user or bot; empty for no user)" />
      {params.map((name) => (
        <Field key={name} name={`param-${name}`} label={name} isRequired />
      ))}
      {query.map((name) => (
        <Field key={name} name={`query-${name}`} label={`${name} (query)`} />
      ))}
      {hasBody && <Body fields={fields} />}
      <Complaint text={complaint} />
      <div class="buttons">
        <button type="submit" class="primary">
          {method === 'GET' ? 'Call' : 'Call and change'}
        </button>
      </div>
      {answer !== null && (
        <textarea
          class="program"
          readOnly
          aria-label="Answer"
          rows={14}
          value={JSON.stringify(answer, null, 2)}
        />
      )}
    </form>
  );
}

const Body = ({ fields }: { readonly fields: readonly BodyField[] }) => (
  <>
    <label for="explorer-body">Body (JSON)</label>
    <textarea
      id="explorer-body"
      name="body"
      class="program"
      rows={5}
      spellcheck={false}
      placeholder={bodyOutline(fields)}
    />
    <Fields of={fields} />
  </>
);

/** What the body may hold, as the server checks it. */
const Fields = ({ of: fields }: { readonly of: readonly BodyField[] }) =>
  fields.length === 0 ? null : (
    <details>
      <summary>Fields of the body ({fields.length})</summary>
      <dl class="fields">
        {fields.map(({ name, what, isRequired }) => (
          <div key={name}>
            <dt>
              <code>{name}</code>
              {isRequired && ' (required)'}
            </dt>
            <dd class="dim">{what}</dd>
          </div>
        ))}
      </dl>
    </details>
  );

const Field = ({
  name,
  label,
  isRequired = false,
}: {
  readonly name: string;
  readonly label: string;
  readonly isRequired?: boolean;
}) => (
  <div class="field">
    <label for={`explorer-${name}`}>{label}</label>
    <input id={`explorer-${name}`} name={name} required={isRequired} autocomplete="off" />
  </div>
);
