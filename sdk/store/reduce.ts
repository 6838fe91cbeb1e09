import type { Json } from '../voice/wire.ts';
import { lobbies, lobbiesReady } from './lobbies.ts';
import { messages, messagesReady } from './messages.ts';
import { people, peopleReady } from './people.ts';
import type { Notice, State } from './store.ts';

type Reducer = (state: State, d: Json) => Notice[];

/** Reducer of each dispatch. Dispatches not listed change no state. */
const REDUCERS: Readonly<Record<string, Reducer>> = {
  ...people,
  ...lobbies,
  ...messages,
  // Users first: the others refer to them.
  READY: (state, d) => [...peopleReady(state, d), ...messagesReady(state, d), ...lobbiesReady(state, d)],
};

/** Applies one dispatch to the state, in place. It never throws, whatever the dispatch contains. */
export const reduce = (state: State, name: string, d: Json): Notice[] =>
  Object.hasOwn(REDUCERS, name) ? REDUCERS[name]!(state, d) : [];
