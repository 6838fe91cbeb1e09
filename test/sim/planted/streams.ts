import type { Patch } from './patch.ts';

/** Bugs in the numbered dispatches of guilds, and in the replay of missed dispatches. */
export const STREAMS: readonly Patch[] = [
  {
    name: 'streams-no-epoch',
    about: 'Each owner numbers dispatches from the beginning.',
    file: 'actors/runtime/stream.ts',
    kind: 'expression',
    from: 'epoch * PER_EPOCH',
    to: '0',
  },
  {
    name: 'streams-empty-ring',
    about: 'A new owner does not load the dispatches of earlier owners.',
    file: 'actors/runtime/ownerepoch.ts',
    kind: 'expression',
    from: 'dispatches.map((each) => ({ ...each, atMs }))',
    to: '[]',
  },
  {
    name: 'streams-no-audience',
    about: 'A session that missed dispatches receives all of them, also invisible ones.',
    file: 'actors/guild/guild.missed.ts',
    kind: 'expression',
    from: 'among.recipients(guild, { t, d: payload, to: audience } as Dispatch, nowMs)',
    to: '[{ d: payload, to: [...afters.keys()] }]',
  },
  {
    name: 'streams-following-not-told',
    about: 'A session does not receive the stream position from which it is subscribed to a guild.',
    file: 'actors/guild/guild.subscription.ts',
    kind: 'expression',
    from: 'subscriber.following?.(ports.id, upTo)',
    to: 'undefined',
  },
  {
    name: 'streams-off-by-one',
    about: 'The first dispatch that a session has missed is left out.',
    file: 'actors/runtime/stream.ts',
    kind: 'expression',
    from: 'this.#kept.slice(low)',
    to: 'this.#kept.slice(low + 1)',
  },
  {
    name: 'streams-departed-unsaid',
    about: 'The shard of sessions does not receive the last stream position of an actor that has ended.',
    file: 'actors/cluster/delivery/membership.ts',
    kind: 'expression',
    from: 'ports().clusterSessions?.guildReleased(guildId, n)',
    to: 'undefined',
  },
];
