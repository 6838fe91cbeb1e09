import type { Json } from '../voice/wire.ts';
import { lobbies, lobbiesReady } from './lobbies.ts';
import { messages, messagesReady } from './messages.ts';
import { people, peopleReady } from './people.ts';
import type { Notice, State } from './store.ts';

type Reducer = (state: State, d: Json) => Notice[];

/** What each dispatch does to the state. Those that are not here say nothing that is kept. */
const REDUCERS: Readonly<Record<string, Reducer>> = {
  ...people,
  ...lobbies,
  ...messages,
  // People first: the others refer to them.
  READY: (state, d) => [...peopleReady(state, d), ...messagesReady(state, d), ...lobbiesReady(state, d)],
};

/** Changes the state by one dispatch, in place. Whatever the dispatch holds, this throws nothing. */
export const reduce = (state: State, name: string, d: Json): Notice[] =>
  Object.hasOwn(REDUCERS, name) ? REDUCERS[name]!(state, d) : [];
