import type { Patch } from './patch.ts';

/** Bugs in the links between lobbies and channels. */
export const LINKS: readonly Patch[] = [
  {
    name: 'links-lobby-kept',
    features: ['links'],
    about: 'A lobby stays linked to a channel that was parted from it.',
    file: 'services/lobbies/links.ts',
    kind: 'statement',
    from: 'if (lobbyId) await this.refresh(lobbyId);',
    to: '',
  },
  {
    name: 'links-channel-kept',
    features: ['links'],
    about: 'A channel names a lobby that was parted from it.',
    file: 'services/lobbies/links.ts',
    kind: 'statement',
    from: 'await this.#free(link.guild_id, channelId, lobbyId);',
    to: '',
  },
  {
    name: 'links-echoed',
    features: ['links'],
    about: 'A lobby is shown its own messages again, as copied to the channel.',
    file: 'engine/guild/lobbylinks.ts',
    kind: 'expression',
    from: 'message.application_id === link.application_id',
    to: 'false',
  },
  {
    name: 'links-uncopied',
    features: ['links'],
    about: 'Messages of a lobby do not reach its channel.',
    file: 'services/lobbies/lobbies.ts',
    kind: 'statement',
    from: 'if (link) links.said(id, link, message);',
    to: '',
  },
];
