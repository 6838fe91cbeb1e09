import type { Routing } from '../../actors/placement/routing.ts';
import type { Notifier } from '../../actors/user/notifier.ts';
import type { Carried } from '../../engine/channel/draft.ts';
import { directRecipients } from '../../engine/fanout/audience.ts';
import { DispatchBody, type Recipient } from '../../engine/fanout/body.ts';
import type { StoredMessage } from '../../engine/guild/guild.ts';
import { type Env, type Reply, refused } from '../../engine/kernel/aggregate.ts';
import { type Authority, userAuthority } from '../../engine/kernel/authority.ts';
import type { PrivateCommands } from '../../engine/privatechannel/rules.ts';
import type { Application } from '../../engine/user/facts.ts';
import type { ContactPolicy } from '../../protocol/contactpolicies.ts';
import {
  type ApplicationId,
  type ChannelId,
  isApplicationId,
  type MessageId,
  type UserId,
} from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { Storage, StoredFact } from '../../storage/ports.ts';
import type { UnstoredInvites } from './invites.ts';
import type { JoinSecretLookup } from './joinsecrets.ts';
import type { DirectDraft, OpenChannel, Person } from './ports.ts';
import { type Reach, reachBetween } from './reach.ts';

export interface DirectMessagePorts {
  readonly storage: Pick<
    Storage,
    'users' | 'privateChannels' | 'messages' | 'applications' | 'relationships'
  >;
  readonly contactPolicy: ContactPolicy;
  readonly joinSecrets: JoinSecretLookup;
  readonly unstoredInvites: UnstoredInvites;
  readonly env: () => Env;
  readonly commit: (ownerId: string, facts: readonly StoredFact[]) => Promise<void>;
  readonly notifier: Pick<Notifier, 'notify' | 'plays'>;
  /** Dispatches an invite to sessions of the game, or of its publisher's other games, that may not read messages. */
  readonly showInvite: (userId: UserId, applicationId: ApplicationId, d: object) => Promise<void>;
  readonly open: OpenChannel;
  readonly isProvisional: (userId: UserId) => Promise<boolean>;
  readonly hasAuthorized: (userId: UserId, applicationId: ApplicationId) => Promise<boolean>;
  /** Whether both are the same application or belong to one publisher. */
  readonly related: (a: ApplicationId, b: ApplicationId) => Promise<boolean>;
  /** Sends a command to a private channel. */
  readonly inPrivate: <K extends keyof PrivateCommands>(
    channelId: ChannelId,
    type: K,
    input: PrivateCommands[K]['input'],
    authority: Authority,
  ) => Promise<Reply<PrivateCommands[K]['value']>>;
}

/** The two users of a message, after both were validated. */
export interface Conversation {
  readonly by: Person;
  readonly other: APIUser;
  /** The application that acts for the sender; null for users themselves. */
  readonly application: Application | null;
}

/** Activity type of an invite to join; type 5 asks to be invited. */
const JOIN = 1;

/** The authority of the user, with the acting application, if any. */
export const personAuthority = ({ userId, authorization }: Person): Authority =>
  userAuthority(userId, authorization?.applicationId ?? null);

/** Input of the private channel's command. */
export const commandInput = (
  { content, flags, nonce }: DirectDraft,
  carried: Carried,
  application: Application | null,
) => ({
  draft: { content: content ?? null, flags: flags ?? null, nonce: nonce ?? null },
  carried,
  attachments: [],
  forward: null,
  ...gameOf(application),
});

/** The application that gets webhook events of the message. */
const gameOf = (application: Application | null) => (application ? { game: application } : {});

/**
 * The application that sent a message gets webhook events of its changes; none for a message that users wrote
 * themselves.
 */
export async function carrierApplication(
  channelId: ChannelId,
  messageId: MessageId,
  { messages, applications }: Pick<DirectMessagePorts['storage'], 'messages' | 'applications'>,
): Promise<{ readonly game?: Application }> {
  const [message] = await messages.get(channelId, [{ channelId, id: messageId }]);
  const id = message?.application_id;
  return gameOf(isApplicationId(id) ? await applications.get(id) : null);
}

/** Applications that may only invite send messages without content. */
export const mayWriteContent = ({ authorization }: Person): boolean =>
  authorization === null || authorization.scopes.has('dm_channels.messages.write');

/** Whether both users have a session of the application. */
export async function bothOnline(
  { by, other, application }: Conversation,
  { notifier }: Pick<DirectMessagePorts, 'notifier'>,
): Promise<boolean> {
  if (!application) return false;
  const userIds = [by.userId, other.id];
  return !(await Promise.all(userIds.map((userId) => notifier.plays(userId, application.id)))).includes(
    false,
  );
}

/** Decides whether the message may be sent. The owner of the channel decides again with its own state. */
export async function checkReach(
  meeting: Conversation,
  draft: DirectDraft,
  ports: DirectMessagePorts,
): Promise<Reply<Reach & { readonly together: boolean }>> {
  const { by, other, application } = meeting;
  if (!mayWriteContent(by) && !draft.activity) {
    const lacks = refusal('MISSING_OAUTH2_SCOPE');
    return refused({ ...lacks, message: `${lacks.message}: dm_channels.messages.write` });
  }
  const [together, channel] = await Promise.all([
    bothOnline(meeting, ports),
    ports.storage.privateChannels.between(by.userId, other.id),
  ]);
  const reach = await reachBetween(
    { relationships: ports.storage.relationships, contactPolicy: ports.contactPolicy },
    {
      from: { id: by.userId },
      to: other,
      replied: channel?.writtenBy?.includes(other.id) ?? false,
      begun: channel?.last_message_id != null,
    },
    { applicationId: application?.id ?? null, together },
  );
  return reach.no ? refused(reach.no) : { ok: true, value: { ...reach, together } };
}

/** The fields of a message that name the application and the activity to join. */
export async function attachedToMessage(
  { by, other, application }: Conversation,
  { activity, metadata }: DirectDraft,
  { joinSecrets, storage }: DirectMessagePorts,
): Promise<Reply<Carried>> {
  const written = metadata && mayWriteContent(by) ? { metadata } : {};
  const of = application ? { application_id: application.id } : {};
  if (!activity) return { ok: true, value: { ...of, ...written } };
  const { type, sessionId, partyId } = activity;
  const applicationId = application?.id ?? null;
  const own = sessionId === null ? [] : joinSecrets.of(by.userId, sessionId);
  const joined =
    type === JOIN
      ? own.find(
          (one) =>
            one.secrets.join !== null &&
            (applicationId === null || one.applicationId === applicationId) &&
            (partyId === null || one.partyId === partyId),
        )
      : await joinSecrets.joinable(other.id, applicationId);
  if (!joined) return refused(refusal('INVALID_ACTIVITY_ACTION'));
  const game = application ?? (await storage.applications.get(joined.applicationId));
  if (!game) return refused(refusal('UNKNOWN_APPLICATION'));
  const wire = {
    type,
    ...(joined.partyId !== null && { party_id: joined.partyId }),
    ...(type === JOIN && { session_id: sessionId }),
  };
  const { id, name, icon, description, cover_image } = game;
  const cover = cover_image === null ? {} : { cover_image };
  const shownGame = { id, name, icon, description, type: null, ...cover };
  return {
    ok: true,
    value: {
      application_id: game.id,
      activity: wire,
      ...(shownGame && { application: shownGame }),
      ...written,
    },
  };
}

/** Dispatches an invite to sessions of the game that may not read messages. */
export async function notifyInvite(
  message: StoredMessage,
  { other }: Pick<Conversation, 'other'>,
  { showInvite }: Pick<DirectMessagePorts, 'showInvite'>,
  channelId: string = message.channel_id,
): Promise<void> {
  const { application_id: applicationId } = message;
  if (!isApplicationId(applicationId)) return;
  const { author, application, activity } = message;
  const d = { message_id: message.id, channel_id: channelId, author, application, activity };
  await showInvite(other.id, applicationId, d);
}

interface InvitePorts extends Pick<DirectMessagePorts, 'related'> {
  /** Sessions of a user of this shard that receive dispatches without a guild. */
  readonly listeners: (userId: UserId) => readonly Recipient[];
  readonly monotonicMs: () => number;
  readonly routing: Routing;
}

/** Runs on the owner shard of the user, which knows the scopes of each session. */
export const createShowInvite = ({
  listeners,
  related,
  monotonicMs,
  routing,
}: InvitePorts): DirectMessagePorts['showInvite'] =>
  routing.ask(
    'activities.showInvite',
    async (userId: UserId, applicationId: ApplicationId, d: object): Promise<void> => {
      const t = 'ACTIVITY_INVITE_CREATE';
      const body = new DispatchBody(t, d, monotonicMs());
      for (const session of directRecipients(listeners(userId), t)) {
        const { authorization } = session;
        if (!authorization || authorization.scopes.has('dm_channels.messages.read')) continue;
        if (await related(authorization.applicationId, applicationId)) session.deliver(body);
      }
    },
  );
