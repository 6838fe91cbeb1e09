import type { Patch } from './patch.ts';

/** Bugs in groups and their calls, and in reads. */
export const GROUPS: readonly Patch[] = [
  {
    name: 'groups-joined-unshown',
    about: 'A user who joins a group does not receive it.',
    file: 'engine/privatechannel/groups.ts',
    kind: 'expression',
    from: "channelShown(state, 'CHANNEL_CREATE', user.id)",
    to: '[]',
  },
  {
    name: 'groups-removed-stay',
    about: 'A user removed from a group still receives its messages.',
    file: 'engine/privatechannel/groups.ts',
    kind: 'expression',
    from: '{ ...state.channel, recipientIds, group }',
    to: '{ ...state.channel, recipientIds: [...new Set([...state.channel.recipientIds, ...recipientIds])], group }',
  },
  {
    name: 'calls-leaving-forgotten',
    about: 'A user who leaves a call stays in it.',
    file: 'engine/privatechannel/calls.ts',
    kind: 'expression',
    from: 'voiceStates.delete(userId)',
    to: 'voiceStates.get(userId)',
  },
  {
    name: 'calls-changes-untold',
    about: 'The recipients of an active call do not receive its joins.',
    file: 'engine/privatechannel/calls.ts',
    kind: 'expression',
    from: "dispatchToAll(owner, 'VOICE_STATE_UPDATE', voiceStateBody(voiceState))",
    to: '[]',
  },
  {
    name: 'reads-beyond-lease',
    features: ['reads'],
    about: 'A shard serves what it had when its lease is over.',
    file: 'actors/cluster/membership/ownership.ts',
    kind: 'expression',
    from: 'this.#serves(partitionOf(id, this.#partitions)) && this.#isSafe',
    to: 'this.#serves(partitionOf(id, this.#partitions))',
  },
  {
    name: 'reads-before-commit',
    about: 'A read does not wait for the commit of what it shows.',
    features: ['reads'],
    file: 'actors/runtime/aggregate.ts',
    kind: 'statement',
    from: 'this.#behindCommits(work, () => settle(false));',
    to: 'settle(false);',
  },
];
