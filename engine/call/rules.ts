import { refusal } from '../../protocol/refusal.ts';
import { accepted, aggregate, type CommandsOf } from '../kernel/aggregate.ts';
import { connecting } from './connecting.ts';
import type { DavePhase } from './encryption.ts';
import { members } from './members.ts';
import { speech } from './speech.ts';
import type { CallShape, CallTopic } from './topic.ts';
import { videos } from './videos.ts';

type EncryptionCommands = {
  /** The media room opens, and knows no setting yet. */
  openMedia: { input: object; value: null };
  /** The phase of the encryption between the members may have changed. */
  changeEncryption: { input: { readonly phase: DavePhase }; value: null };
};

/** Which media are forwarded: while all members are in one epoch, none that are not encrypted end to end. */
const encryption: CallTopic<EncryptionCommands, 'encryptedOnlySet'> = {
  commands: {
    openMedia: {
      decide: ({ e2eeRequired }) =>
        accepted(null, [{ type: 'encryptedOnlySet', encryptedOnly: e2eeRequired }]),
    },
    changeEncryption: {
      decide: ({ e2eeRequired, encryptedOnly: before }, { phase }) => {
        const encryptedOnly = e2eeRequired || phase === 'secure';
        return accepted(null, encryptedOnly === before ? [] : [{ type: 'encryptedOnlySet', encryptedOnly }]);
      },
    },
  },
  facts: {
    encryptedOnlySet: {
      durable: false,
      apply: (state, { encryptedOnly }) => {
        state.encryptedOnly = encryptedOnly;
      },
      dispatches: (_state, { encryptedOnly }) => [{ kind: 'encryptedOnly', encryptedOnly }],
    },
  },
};

/**
 * The call: its connected members, what the server sends them about each other, and the settings of their media.
 *
 * @source https://docs.discord.com/developers/topics/voice-connections
 */
export const callRules = aggregate<CallShape>()({
  name: 'call',
  missing: refusal('UNKNOWN_CHANNEL'),
  topics: [members, connecting, speech, videos, encryption],
});

/** Every command of a call with its input. */
export type CallCommands = CommandsOf<typeof callRules>;
