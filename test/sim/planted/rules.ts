import type { Patch } from './patch.ts';

/** Bugs in visibility, and in the effects of commands. */
export const RULES: readonly Patch[] = [
  {
    name: 'rules-view-not-asked',
    about: 'Users without access to a channel receive its messages.',
    file: 'engine/fanout/gate.ts',
    kind: 'expression',
    from: 'channel && (here & P.VIEW_CHANNEL) === 0n',
    to: 'false',
  },
  {
    name: 'rules-overwrites-remembered',
    about: 'The audience of a channel is not computed again when its overwrites change.',
    file: 'engine/guild/channels.ts',
    kind: 'expression',
    from: '!alike',
    to: 'false',
  },
  {
    name: 'rules-nobody-is-singular',
    about: 'Overwrites for single members are not looked at in audiences.',
    file: 'engine/fanout/gate.ts',
    kind: 'expression',
    from: 'this.named.has(member.user.id)',
    to: 'false',
  },
  {
    name: 'rules-joins-unfollowed',
    about: 'The sessions of who joins a guild are not brought into it.',
    file: 'actors/user/users.ts',
    kind: 'statement',
    from: 'if (open.size > 0) then(shell.sessions());',
    to: '',
  },
];
