import { refusal } from '../../protocol/refusal.ts';
import { aggregate, type CommandsOf } from '../kernel/aggregate.ts';
import { extensions } from './extensions.ts';
import { linking } from './linking.ts';
import { callerRefusal } from './lobby.ts';
import { members } from './members.ts';
import { messages } from './messages.ts';
import { sessions } from './sessions.ts';
import { listingUpdates } from './settings.ts';
import type { LobbyShape, LobbyTopic } from './topic.ts';
import { voice } from './voice.ts';

/** Webhook events for the application's own server; they are stored until they are sent. */
const events: LobbyTopic<Record<never, never>, 'webhookEventQueued'> = {
  commands: {},
  facts: { webhookEventQueued: { apply: () => {}, dispatches: () => [] } },
};

/** The lobby. @source https://docs.discord.food/gateway/gateway-events#gateway-lobby-object and the events after it */
export const lobbyRules = aggregate<LobbyShape>()({
  name: 'lobby',
  missing: refusal('UNKNOWN_LOBBY'),
  authorize: callerRefusal,
  consequences: [listingUpdates],
  topics: [members, messages, linking, voice, sessions, extensions, events],
});

/** Every command of the lobby with its input and its value. */
export type LobbyCommands = CommandsOf<typeof lobbyRules>;
