import type { Patch } from './patch.ts';

/** Bugs in the messages between the shards of sessions and the owners of guilds and users. */
export const HOMES: readonly Patch[] = [
  {
    name: 'homes-not-asked-again',
    about: 'Sessions do not subscribe again when a guild changes hands.',
    file: 'actors/cluster/delivery/guildsubscriptions.ts',
    kind: 'expression',
    from: '!isFrom(stream, ownership.ownerOf(stream.guildId))',
    to: 'false',
  },
  {
    name: 'homes-the-last-handle',
    about: 'The last of the sessions that a frame is for does not get it.',
    file: 'actors/cluster/delivery/localsessions.ts',
    kind: 'expression',
    from: 'index < handles.length',
    to: 'index < Math.max(1, handles.length - 1)',
  },
  {
    name: 'homes-line-not-moved',
    about: 'Sessions are not opened again when their user changes hands.',
    file: 'actors/cluster/delivery/userchanneltransition.ts',
    kind: 'expression',
    from: "state.name === 'open' && isSameOwner(state.owner, owner)",
    to: 'true',
  },
  {
    name: 'homes-presence-not-merged',
    about: 'The last of a user’s sessions alone says how the user appears.',
    file: 'actors/user/users.ts',
    kind: 'statement',
    from: 'known.presence = presence;',
    to: 'for (const other of shell.open.values()) other.presence = null; known.presence = presence;',
  },
  {
    name: 'homes-joined-elsewhere',
    about: 'A session whose home is another shard is not brought into a guild that its user joins.',
    file: 'actors/cluster/delivery/sessions.ts',
    kind: 'statement',
    from: 'if (local) follow(context, local, guildId);',
    to: '',
  },
  {
    name: 'homes-from-the-start',
    about: 'Sessions ask a new owner for the guild, though they have had it.',
    file: 'actors/cluster/delivery/subscriptiontransition.ts',
    kind: 'expression',
    from: "{ name: 'waiting', client: upTo(n), waiter: null, sinceMs, deliveredUnder }",
    to: "{ name: 'waiting', client: NOTHING, waiter: null, sinceMs, deliveredUnder }",
  },
];
