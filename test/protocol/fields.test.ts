// Goal: one table of fields gives the schemas of requests, replies and links, the first values and what is shown.
import { Compile } from 'typebox/compile';
import { describe, expect, test } from 'vitest';
import { partial } from '../../protocol/linkschema.ts';
import {
  flag,
  ids,
  initialOf,
  integer,
  linksOf,
  namesShown,
  oneOf,
  type Rows,
  repliesOf,
  requestsOf,
  text,
  texts,
  url,
} from '../../protocol/schemas/fields.ts';
import { Obj } from '../../protocol/schemas/request.ts';
import { object } from '../../protocol/schemas/schema.ts';

const rows = {
  open: { value: flag, initial: false, shownTo: 'everyone' },
  seats: { value: integer(1, 9), initial: 4, shownTo: 'everyone', onNull: 'initial' },
  flags: { value: oneOf(0, 1), initial: 0, shownTo: 'nobody', onNull: 'unchanged' },
  name: { value: text(1, 3), initial: null, shownTo: 'everyone' },
  link: { value: url(100), initial: null, shownTo: 'server' },
  tags: { value: texts(1, 3), initial: null, shownTo: 'everyone' },
  hash: { value: text(1, 3), initial: null, shownTo: 'nobody', internal: true },
  users: { value: ids('user', 2), initial: null, shownTo: 'everyone' },
} as const satisfies Rows;
const INITIAL = {
  open: false,
  seats: 4,
  flags: 0,
  name: null,
  link: null,
  tags: null,
  hash: null,
  users: null,
};

const requests = Compile(Obj(requestsOf(rows)));
const links = partial(linksOf(rows));

test.each<[request: boolean, link: boolean, change: object]>([
  [true, true, {}],
  [true, true, { open: true, seats: 9, flags: 1, name: 'abc', link: 'https://a.test/', tags: { a: '1' } }],
  [true, true, { seats: null, flags: null, name: null, link: null, tags: null, users: null }],
  [true, true, { users: ['1', '2'] }],
  [true, true, { hash: 'abc' }],
  [true, false, { hash: 1 }],
  [false, false, { open: null }],
  [false, false, { open: 1 }],
  [false, false, { seats: 1.5 }],
  [false, false, { users: ['one'] }],
  [false, false, { tags: { a: 1 } }],
  // Bounds are for clients: shards trust each other with them.
  [false, true, { seats: 10 }],
  [false, true, { flags: 2 }],
  [false, true, { name: 'abcd' }],
  [false, true, { link: 'no link' }],
  [false, true, { tags: { a: '1', b: '2' } }],
  [false, true, { users: ['1', '2', '3'] }],
])('a request may have it: %s, a link may have it: %s: %j', (request, link, change) => {
  expect(requests.Check(change)).toBe(request);
  expect(links.accepts(change)).toBe(link);
});

describe('a table of fields', () => {
  test('gives the first values', () => {
    expect(initialOf(rows)).toEqual(INITIAL);
  });

  test('names what an object shows to everyone and to the server', () => {
    expect(namesShown(rows, false)).toEqual(['open', 'seats', 'name', 'tags', 'users']);
    expect(namesShown(rows, true)).toEqual(['open', 'seats', 'name', 'link', 'tags', 'users']);
  });

  test('gives replies that must have the fields for everyone and may have those for the server', () => {
    const { flags: _, hash: __, link, ...forEveryone } = INITIAL;
    const replies = Compile(object(repliesOf(rows)));
    expect(replies.Check(forEveryone)).toBe(true);
    expect(replies.Check({ ...forEveryone, link })).toBe(true);
    expect(replies.Check({ ...forEveryone, open: null })).toBe(false);
    expect(replies.Check({ ...forEveryone, seats: null })).toBe(false);
    expect(replies.Check(INITIAL)).toBe(false);
    const { name: ___, ...nameless } = forEveryone;
    expect(replies.Check(nameless)).toBe(false);
  });
});
