import { useState } from 'preact/hooks';
import type { Json } from '../../sdk/voice/wire.ts';
import { type Admin, list, number, text } from './admin.ts';
import { type Change, type Column, Complaint, Confirm, Pager, Table, useLoaded } from './parts.tsx';

export interface AdminProps {
  readonly admin: Admin;
}

const ROWS = 50;

export const code = (title: string, key: string): Column => ({
  title,
  cell: (row) => <code>{text(row[key])}</code>,
});
export const word = (title: string, key: string): Column => ({ title, cell: (row) => text(row[key]) });
export const count = (title: string, key: string): Column => ({
  ...{ title, isNumber: true },
  cell: (row) => number(row[key]).toLocaleString(),
});
export const moment = (title: string, key: string): Column => ({
  title,
  cell: (row) => (typeof row[key] === 'string' ? new Date(row[key]).toLocaleString() : '–'),
});

interface PagedProps extends AdminProps {
  readonly title: string;
  /** A sentence below the title. */
  readonly about?: string;
  readonly path: string;
  /** The key of the rows in the answer. */
  readonly rows: string;
  readonly columns: readonly Column[];
  /** The parameter that names the last row of the page before, and the row's field with its value. */
  readonly cursor?: { readonly by: 'after' | 'before'; readonly key: string };
  /** Milliseconds between two readings; 0 reads once. */
  readonly everyMs?: number;
  /** Asks for a value of a parameter, which then stands in place of the page. */
  readonly search?: { readonly by: string; readonly label: string };
  readonly create?: Change;
  readonly changes?: (row: Json) => readonly Change[];
  /** Whether another page may follow. */
  readonly isFull?: (found: readonly Json[]) => boolean;
}

const BY_ID = { by: 'after', key: 'id' } as const;
const isWholePage = (found: readonly Json[]): boolean => found.length === ROWS;

/** A table that the server reads page by page, with changes of its rows. */
export function Paged(props: PagedProps) {
  const { admin, title, about, path, rows, columns, cursor = BY_ID, everyMs = 0 } = props;
  const { search, create, changes } = props;
  const [wanted, setWanted] = useState('');
  const [trail, setTrail] = useState<readonly string[]>([]);
  const [change, setChange] = useState<Change | null>(null);
  const at = trail.at(-1);
  const page = `?limit=${ROWS}${at === undefined ? '' : `&${cursor.by}=${at}`}`;
  const query = search && wanted ? `?${new URLSearchParams({ [search.by]: wanted })}` : page;
  const { body, complaint, reload } = useLoaded(() => admin.get(path + query), path + query, everyMs);
  const found = list(body?.[rows]);
  const shown = changes ? [...columns, actionsOf(changes, setChange)] : columns;
  const last = (props.isFull ?? isWholePage)(found) ? text(found.at(-1)?.[cursor.key]) : null;
  return (
    <>
      <div class="pagehead">
        <h2>{title}</h2>
        {create && (
          <button type="button" class="primary" onClick={() => setChange(create)}>
            {create.title}
          </button>
        )}
      </div>
      {about !== undefined && <p class="dim">{about}</p>}
      {search && <Search label={search.label} choose={setWanted} />}
      <Complaint text={complaint} />
      {body !== null && <Table name={title} rows={found} columns={shown} />}
      {body !== null && <Pager trail={trail} last={last} go={setTrail} />}
      {change && (
        <Confirm
          key={change.title}
          change={change}
          done={() => {
            setChange(null);
            reload();
          }}
        />
      )}
    </>
  );
}

/** A form that asks for a name; an empty one shows all again. */
function Search({ label, choose }: { readonly label: string; readonly choose: (wanted: string) => void }) {
  const [given, setGiven] = useState('');
  return (
    <form
      class="form inline"
      onSubmit={(event) => {
        event.preventDefault();
        choose(given.trim());
      }}
    >
      <label for="search">{label}</label>
      <input
        id="search"
        autocomplete="off"
        spellcheck={false}
        value={given}
        onInput={({ currentTarget }) => setGiven(currentTarget.value)}
      />
      <button type="submit">Find</button>
    </form>
  );
}

/** A column with a button for each change of its row. */
export const actionsOf = (
  changes: (row: Json) => readonly Change[],
  choose: (change: Change) => void,
): Column => ({
  title: 'Change',
  cell: (row) => (
    <div class="rowactions">
      {changes(row).map((one) => (
        <button type="button" key={one.title} onClick={() => choose(one)}>
          {one.title}
        </button>
      ))}
    </div>
  ),
});
