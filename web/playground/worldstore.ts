import type { Client, GuildView, PrivateChannelView } from '../../sdk/index.ts';
import { createStore, type Store } from '../store.ts';

interface WorldState {
  readonly guilds: ReadonlyMap<string, GuildView>;
  readonly privates: ReadonlyMap<string, PrivateChannelView>;
}

export type WorldStore = Store<WorldState>;

/** The guilds and private channels of the client, whose first members are requested. */
export function createWorld(client: Client): WorldStore {
  const store = createStore<WorldState>({
    guilds: client.getGuilds(),
    privates: client.getPrivateChannels(),
  });
  client.setGuildsUpdatedCallback(() =>
    store.set({ guilds: client.getGuilds(), privates: client.getPrivateChannels() }),
  );
  client.addDispatchCallback((name, { id }) => {
    if (name === 'GUILD_CREATE') client.requestGuildMembers(String(id));
  });
  return store;
}
