import type { Guilds } from '../../actors/guild/guilds.ts';
import type { Routing } from '../../actors/placement/routing.ts';
import type { Tap } from '../../actors/runtime/aggregate.ports.ts';
import type { Lifetime } from '../../actors/runtime/clock.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import type { CommitAndNotify, Notifier } from '../../actors/user/notifier.ts';
import type { EditInput, Written } from '../../engine/channel/draft.ts';
import type { StoredMessage } from '../../engine/guild/guild.ts';
import type { Interaction, InteractionLocation } from '../../engine/interaction/interaction.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { ContactPolicy } from '../../protocol/contactpolicies.ts';
import {
  type ApplicationId,
  type FreshId,
  isApplicationId,
  type MessageId,
  type UserId,
} from '../../protocol/ids.ts';
import { INTERACTION } from '../../protocol/interactions.ts';
import { invalidField, refusal } from '../../protocol/refusal.ts';
import type { Storage } from '../../storage/ports.ts';
import type { EndpointSender } from '../applications/endpoint.ts';
import { personalBytesMax, type UploadBounds } from '../channels/uploads.ts';
import { skusForSale } from '../premium/forsale.ts';
import type { Premium } from '../premium/premium.ts';
import type { InPrivate } from '../privatechannels/privatechannels.ts';
import type { TokenMessage, TokenMessageId, TokenMessages, TokenTarget } from '../webhooks/ports.ts';
import { Adoption } from './adoption.ts';
import { Answering } from './answering.ts';
import { EndedSweep } from './ended.ts';
import { EphemeralMessages } from './ephemeral.ts';
import { committing, type InvokerDispatch } from './invoker.ts';
import { createLookups } from './lookups.ts';
import { OpenInteractions } from './open.ts';
import { type AnswerAtOwner, InteractionOwner } from './owner.ts';
import { createPlaces } from './places.ts';
import type { Begun, Callback, Interactions, Invocation, ReceiveAnswer } from './ports.ts';
import { createInteractionTokens } from './tokens.ts';

interface InteractionPorts {
  readonly storage: Pick<
    Storage,
    | 'interactions'
    | 'applications'
    | 'appCommands'
    | 'users'
    | 'messages'
    | 'privateChannels'
    | 'premium'
    | 'relationships'
  >;
  readonly config: UploadBounds & { readonly direct_messages_from: ContactPolicy };
  readonly guilds: Guilds;
  /** As `inPrivate`, on this shard alone. */
  readonly inPrivateHere: InPrivate;
  readonly sender: Pick<EndpointSender, 'post'>;
  readonly receive: ReceiveAnswer;
  readonly premiumTypeOf: Premium['premiumTypeOf'];
  readonly notifier: Pick<Notifier, 'notify' | 'notifySession' | 'hasSession'>;
  /** Launches the activity of an interaction's application for its invoker. @returns the instance's id. */
  launchActivity(interaction: Interaction): Promise<Reply<string>>;
  /** Called on every shard when an application or its commands changed. */
  applicationChanged(id: string): void;
  /** Shows the embedding program what is dispatched. */
  readonly tap: Tap;
  /** Signs the attachment URLs of a dispatch. */
  readonly sign: (t: string, d: object) => object;
  /** Whether the user has installed the application to the account. */
  hasInstalled(userId: UserId, applicationId: ApplicationId): Promise<boolean>;
  readonly commitAndNotify: CommitAndNotify;
  /** Reads the secret that tokens are made of. */
  readonly secret: () => Promise<string>;
  readonly routing: Routing;
  readonly wheel: Wheel;
  /** Ends the work in the background. */
  readonly scope: Pick<Lifetime, 'over' | 'own'>;
  readonly nextId: () => FreshId;
  readonly nowMs: () => number;
  readonly onFault: (error: unknown) => void;
}

/** Numbers of interactions, for metrics. */
interface InteractionCounts {
  /** Waiting for a first answer. */
  readonly waiting: number;
  readonly inMemory: number;
}

/** Interactions with the messages under their tokens. */
export interface ServedInteractions extends Interactions {
  readonly tokenMessages: TokenMessages;
  readonly counts: InteractionCounts;
  /** Resolves when what is on its way to applications' URLs has come back. */
  idle(): Promise<void>;
  /** An application or its commands changed, on any shard. */
  forget(applicationId: string): void;
}

const UNKNOWN: Reply<never> = { ok: false, refusal: refusal('UNKNOWN_INTERACTION') };
/**
 * The token of an interaction opens its webhook with the first answer.
 *
 * @source https://github.com/discordjs/discord.js/issues/6883, https://github.com/Rapptz/discord.py/issues/10461
 */
const UNANSWERED: Reply<never> = { ok: false, refusal: refusal('UNKNOWN_WEBHOOK') };
/** Dispatches to a session that is not open would be kept for it, in a buffer that all users share. */
const UNKNOWN_SESSION: Reply<never> = {
  ok: false,
  refusal: invalidField(['session_id'], 'UNKNOWN_SESSION', 'You have no open gateway session with this id.'),
};

/** Serves interactions, including those of an earlier process. */
export function startInteractions(ports: InteractionPorts): ServedInteractions {
  const { storage, routing, wheel, scope, nowMs, onFault } = ports;
  const open = new OpenInteractions(storage.interactions, nowMs);
  const { owner, answering, ephemeral, tokens, lookups } = ownerOf(ports, open, (...asked) =>
    at.answer(...asked),
  );
  const sweep = new EndedSweep({
    ...{ store: storage.interactions, wheel, scope, nowMs, onFault },
    async ended({ messages }) {
      for (const message of messages) ephemeral.ended(message);
      open.trim();
    },
  });
  sweep.start();
  const { adoption, invoke } = beginning(ports, { owner, open });
  adoption.begin(() => true);
  routing.onMoved((moved) => {
    owner.forgetMoved(moved);
    adoption.begin(moved);
  });

  const at: ReturnType<typeof routes> = routes(routing, { owner, invoke, answering, ephemeral, open });
  return {
    counts: {
      get waiting() {
        return owner.waiting;
      },
      get inMemory() {
        return open.size;
      },
    },
    idle: () => owner.idle(),
    forget: routing.tellAll('interactions.forget', (id: string) => {
      lookups.forget(id);
      ports.applicationChanged(id);
    }),
    async invoke(invocation) {
      const { userId, sessionId, ownerId } = invocation;
      const isOpen = sessionId === '' || (await ports.notifier.hasSession(userId, sessionId));
      return isOpen ? at.invoke(ownerId, invocation) : UNKNOWN_SESSION;
    },
    async answer(id, token, callback) {
      const subject = (await tokens()).read(token);
      return subject?.id === id ? at.answer(subject.ownerId, id, callback) : UNKNOWN;
    },
    async placeOf(token) {
      const subject = (await tokens()).read(token);
      const place = subject && (await at.place(subject.ownerId, subject.id));
      return place?.isFailed ? null : place;
    },
    dismiss: (place, messageId, userId) => at.dismiss(place.ownerId, place, messageId, userId),
    tokenMessages: {
      async find(id, token) {
        const subject = (await tokens()).read(token);
        const place = subject && (await at.place(subject.ownerId, subject.id));
        if (!subject || place?.applicationId !== String(id)) return null;
        return place.isAnswered ? { ok: true, value: targetOf(place, subject.id, at) } : UNANSWERED;
      },
      async knows(webhookId) {
        // The id of an application is in the place of a webhook's.
        const id: string = webhookId;
        return isApplicationId(id) && (await storage.applications.get(id)) !== null;
      },
    },
  };
}

/** Begins interactions after the nonces of earlier ones are known, because they must not be used again. */
function beginning(
  { storage, routing, scope, wheel, nowMs, onFault }: InteractionPorts,
  { owner, open }: { readonly owner: InteractionOwner; readonly open: OpenInteractions },
) {
  const adoption = new Adoption({
    ...{ store: storage.interactions, nowMs, scope, wheel, onFault },
    owns: (ownerId) => routing.owns(ownerId),
    note: (stored) => open.note(stored),
    resume: (stored) => owner.adopt(stored),
  });
  const invoke = (invocation: Invocation): Promise<Reply<Begun>> =>
    owner.invoke(invocation, async (begin) => {
      await adoption.noted();
      try {
        return await begin();
      } catch (error) {
        // Whether it was stored is unknown: the next invocation with this nonce waits until it is read.
        adoption.begin((ownerId) => ownerId === invocation.ownerId);
        throw error;
      }
    });
  return { adoption, invoke };
}

function ownerOf(ports: InteractionPorts, open: OpenInteractions, answerAtOwner: AnswerAtOwner) {
  const { storage, notifier, nextId, nowMs, commitAndNotify, guilds, sender, receive } = ports;
  const tokens = readOnce(async () => createInteractionTokens(await ports.secret()));
  const places = createPlaces({ ...ports, env: () => ({ nowMs: nowMs(), nextId }) });
  const lookups = createLookups(storage, nowMs);
  const notify: Notifier['notify'] = (userId, t, d, filter) => {
    ports.tap.see(t, d, userId);
    notifier.notify(userId, t, d, filter);
  };
  const see = (t: string, d: object, userId: UserId) => ports.tap.see(t, d, userId);
  const notifyInvoker = (
    { userId, sessionId }: Interaction,
    dispatches: readonly InvokerDispatch[],
  ): void => {
    for (const { t, d } of dispatches) {
      see(t, d, userId);
      if (sessionId !== '') notifier.notifySession(userId, sessionId, t, d);
    }
  };
  const commit = committing({ commitAndNotify, see });
  const ephemeral = new EphemeralMessages({
    ...{ places, store: storage.interactions, commit, notify, sign: ports.sign },
    write: (...change) => owner.write(...change),
  });
  const answering = new Answering({
    ...{ places, ephemeral, nextId, nowMs },
    write: (interaction, dispatches) => owner.write(interaction, [], dispatches),
    checkOwned: (interaction) => owner.checkOwned(interaction),
    remember: (interaction) => owner.remember(interaction),
    answered: (interaction) => owner.answered(interaction),
    forSale: (applicationId) => skusForSale(storage.premium, applicationId),
    launch: (interaction) => launched(ports, interaction),
  });
  const fileBytesMax = (tier: number, userId: UserId): Promise<number> =>
    personalBytesMax({ premium: ports, config: ports.config }, tier, userId);
  const owner: InteractionOwner = new InteractionOwner({
    invoking: {
      ...{ places, ephemeral, open },
      command: lookups.command,
      rules: lookups.rules,
      hasInstalled: ({ userId, applicationId }) => ports.hasInstalled(userId, applicationId),
    },
    delivery: { guilds, sender, notify, sign: ports.sign },
    ...{ receive, answering, answerAtOwner, places, open, lookups, tokens, nextId, nowMs },
    ...{ commit, notifyInvoker },
    ...{ wheel: ports.wheel, scope: ports.scope, onFault: ports.onFault, fileBytesMax },
  });
  return { owner, answering, ephemeral, tokens, lookups };
}

/** Launches the activity of an interaction's application. @returns 50035 for an application without one. */
async function launched(ports: InteractionPorts, interaction: Interaction): Promise<Reply<string>> {
  const reply = await ports.launchActivity(interaction);
  if (reply.ok || reply.refusal.code !== refusal('UNKNOWN_APPLICATION').code) return reply;
  const message = 'The application has no activity.';
  return { ok: false, refusal: invalidField(['type'], 'BASE_TYPE_CHOICES', message) };
}

/** Reads when it is first needed, and again after a failure. */
function readOnce<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let known: Promise<Value> | null = null;
  return async () => {
    known ??= read();
    try {
      return await known;
    } catch (error) {
      known = null;
      throw error;
    }
  };
}

interface InteractionParts {
  readonly owner: InteractionOwner;
  readonly invoke: (invocation: Invocation) => Promise<Reply<Begun>>;
  readonly answering: Answering;
  readonly ephemeral: EphemeralMessages;
  readonly open: OpenInteractions;
}

/** Runs on the shard that owns the interaction. */
function routes(routing: Routing, { owner, invoke, answering, ephemeral, open }: InteractionParts) {
  const place = async (ownerId: string, id: string) => {
    const found = await open.get(ownerId, id);
    if (!found) return null;
    const { guildId, channelId, applicationId, userId, state } = found;
    const isFailed = state.kind === 'failed';
    // Suggestions are not followed by messages.
    const isAnswered = !isFailed && state.kind !== 'waiting' && found.type !== INTERACTION.AUTOCOMPLETE;
    return { ownerId, guildId, channelId, applicationId, userId, isAnswered, isFailed };
  };
  return {
    place: routing.ask('interactions.place', place),
    invoke: routing.ask('interactions.invoke', (_ownerId: string, invocation: Invocation) =>
      invoke(invocation),
    ),
    /** The first answer, from the callback route or in an HTTP response. */
    answer: routing.ask('interactions.answer', (ownerId: string, id: string, callback: Callback) =>
      owner.run(ownerId, id, (interaction) => answering.first(interaction, callback)),
    ),
    followUp: routing.ask('interactions.followUp', (ownerId: string, id: string, message: TokenMessage) =>
      owner.run<Written>(ownerId, id, (interaction) => answering.followUp(interaction, message)),
    ),
    get: routing.ask('interactions.message', (ownerId: string, id: string, messageId: TokenMessageId) =>
      owner.run<StoredMessage>(ownerId, id, (interaction) => answering.get(interaction, messageId)),
    ),
    edit: routing.ask(
      'interactions.edit',
      (ownerId: string, id: string, messageId: TokenMessageId, change: Omit<EditInput, 'from'>) =>
        owner.run<Written>(ownerId, id, (interaction) => answering.edit(interaction, messageId, change)),
    ),
    remove: routing.ask('interactions.remove', (ownerId: string, id: string, messageId: TokenMessageId) =>
      owner.run<null>(ownerId, id, (interaction) => answering.remove(interaction, messageId)),
    ),
    dismiss: routing.ask(
      'interactions.dismiss',
      (_ownerId: string, where: InteractionLocation, messageId: MessageId, userId: UserId) =>
        ephemeral.dismiss(where, messageId, userId),
    ),
  };
}

/** The messages that answer one interaction. */
function targetOf(
  { ownerId, guildId, channelId, userId }: InteractionLocation & Pick<Interaction, 'userId'>,
  id: string,
  at: ReturnType<typeof routes>,
): TokenTarget {
  const inThread: Reply<never> = { ok: false, refusal: refusal('UNKNOWN_CHANNEL') };
  return {
    ...{ channelId, guildId, ownerId, userId, waits: true },
    execute: (message) => at.followUp(ownerId, id, message),
    get: async (messageId, threadId) => (threadId === undefined ? at.get(ownerId, id, messageId) : inThread),
    async edit(messageId, { edit, keep, attachments, threadId }) {
      return threadId === undefined ? at.edit(ownerId, id, messageId, { edit, keep, attachments }) : inThread;
    },
    delete: async (messageId, threadId) =>
      threadId === undefined ? at.remove(ownerId, id, messageId) : inThread,
  };
}
