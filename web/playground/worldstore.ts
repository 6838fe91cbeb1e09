import { OP } from '../../protocol/opcodes.ts';
import type { Session } from '../session.ts';
import { createStore, type Store } from '../store.ts';
import { type World, worldAfter } from './world.ts';

export type WorldStore = Store<{ readonly guilds: World }>;

/** Members requested per guild; later ones arrive with dispatches. */
const MEMBERS_ASKED = 100;

/** The guilds of a session, kept up with its dispatches. */
export function createWorld(session: Session): WorldStore {
  const store = createStore<{ readonly guilds: World }>({ guilds: new Map() });
  session.listen((t, d) => {
    const guilds = worldAfter(store.value.guilds, t, d);
    if (guilds !== store.value.guilds) store.set({ guilds });
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
