import { OP } from '../../protocol/opcodes.ts';
import type { Session } from '../session.ts';
import { createStore, type Store } from '../store.ts';
import { type Privates, privatesAfter } from './privates.ts';
import { type World, worldAfter } from './world.ts';

interface Known {
  readonly guilds: World;
  readonly privates: Privates;
}

export type WorldStore = Store<Known>;

/** Members requested per guild; later ones arrive with dispatches. */
const MEMBERS_ASKED = 100;

/** The guilds and private channels of a session, kept up with its dispatches. */
export function createWorld(session: Session): WorldStore {
  const store = createStore<Known>({ guilds: new Map(), privates: new Map() });
  session.listen((t, d) => {
    const guilds = worldAfter(store.value.guilds, t, d);
    const privates = privatesAfter(store.value.privates, t, d);
    if (guilds !== store.value.guilds || privates !== store.value.privates) store.set({ guilds, privates });
    if (t === 'GUILD_CREATE')
      session.ask(OP.REQUEST_GUILD_MEMBERS, {
        guild_id: d.id,
        query: '',
        limit: MEMBERS_ASKED,
        presences: true,
      });
  });
  return store;
}
