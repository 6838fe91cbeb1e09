import type { Patch } from './patch.ts';

/** Bugs in the rows of member lists that clients subscribe to. */
export const MEMBER_LISTS: readonly Patch[] = [
  {
    name: 'lists-not-shown-again',
    features: ['lists'],
    about: 'A session that subscribes to its guild again is not sent its rows.',
    file: 'actors/guild/guild.memberlists.ts',
    kind: 'expression',
    from: '!latest',
    to: 'true',
  },
  {
    name: 'lists-change-forgotten',
    features: ['lists'],
    about: 'The first of the members who changed in half a second keeps an outdated row.',
    file: 'actors/guild/guild.memberlists.ts',
    kind: 'expression',
    from: 'shown.list.update(guild, userId)',
    to: 'userId !== changed[0] && shown.list.update(guild, userId)',
  },
  {
    name: 'lists-not-restored',
    features: ['lists'],
    about: 'What a session is shown is forgotten when it moves to another shard.',
    file: 'actors/session/session.shell.ts',
    kind: 'expression',
    from: 'manner.memberLists ?? null',
    to: 'null',
  },
];
