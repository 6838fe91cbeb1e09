import { OP } from '../../protocol/opcodes.ts';
import { messageOf } from '../../protocol/thrown.ts';
import { type Activity, activityToWire, checkActivity } from '../activity.ts';
import { ActivityActionTypes, ErrorType, Status, StatusType } from '../enums.ts';
import type { LocalClient } from '../host.ts';
import { path } from '../http.ts';
import { PRESENCE_PACE, pacedSender } from '../paced.ts';
import { ClientError, invalid, notReady } from '../result.ts';
import type { Disposer } from '../signal.ts';
import { adoptMessage } from '../store/messages.ts';
import { gameActivityOf } from '../store/people.ts';
import { jsonOf, madeMs, textOf } from '../store/read.ts';
import type { InviteRecord } from '../store/store.ts';
import { isJson, type Json } from '../voice/wire.ts';
import { type Core, checkId, unexpected } from './core.ts';

export type ActivityInvite = InviteRecord;

const INVITE_MS = 6 * 3_600_000;
const INVITE_CHARS_MAX = 1_024;
const WORDS: Readonly<Partial<Record<StatusType, string>>> = {
  [StatusType.Online]: 'online',
  [StatusType.Idle]: 'idle',
  [StatusType.Dnd]: 'dnd',
  [StatusType.Invisible]: 'invisible',
};

interface PresenceState {
  readonly activity: Activity | null;
  readonly status: string;
}

const NO_PRESENCE: PresenceState = { activity: null, status: 'online' };

/** Rich presence of this player, and activity invites. */
export class Presence {
  readonly #core: Core;
  readonly #sender: ReturnType<typeof createPresenceSender>;
  #presence: PresenceState = NO_PRESENCE;
  /** Shows the activity while there is no gateway session. */
  #local: LocalClient | null = null;
  #windowPid: number | undefined;

  constructor(core: Core) {
    this.#core = core;
    this.#sender = createPresenceSender(core, () => presenceOf(core, this.#presence));
    // Also after a resume: updates sent before it may be lost.
    core.sessionReady.add(() => {
      if (this.#presence !== NO_PRESENCE) this.#sender.send();
    });
    core.signals.statusChanged.add((status) => {
      if (status !== Status.Disconnected) {
        this.#endLocal();
        return;
      }
      this.#presence = NO_PRESENCE;
      this.#sender.stop();
    });
  }

  /** Names the process of the game's window, where this is another one; the person's RPC server receives it. */
  setGameWindowPid(pid: number): void {
    if (!Number.isSafeInteger(pid) || pid < 0) throw invalid('pid must be the id of a process.');
    this.#windowPid = pid;
  }

  /** Sets the status next to the user's name until the client is disconnected. */
  async setOnlineStatus(status: StatusType): Promise<void> {
    const word = WORDS[status];
    if (word === undefined) throw invalid('The status must be Online, Idle, Dnd or Invisible.');
    this.#update({ status: word });
  }

  /**
   * Sets the rich presence. It is sent again to every new session, at most five times in twenty seconds; of
   * waiting updates only the latest is sent. A client that is not connected shows it by the RPC server of the person's
   * machine, where there is one, until `connect`.
   *
   * @throws ClientError: ValidationError names the field; ClientNotReady before `connect` where there are no local
   * sockets, RPCError where no RPC server shows it.
   */
  async updateRichPresence(activity: Activity): Promise<void> {
    checkActivity(activity);
    this.#core.log.keepSecret(activity.secrets?.join);
    const local = this.#openLocal();
    if (local === null) this.#update({ activity: structuredClone(activity) });
    else await this.#showLocally(local, activity);
  }

  clearRichPresence(): void {
    this.#endLocal();
    if (this.#presence.activity !== null) this.#update({ activity: null });
  }

  /** Invites a user into this player's party; the rich presence must contain the party and a join secret. */
  sendActivityInvite(userId: string, content: string): Promise<void> {
    return this.#inviteTo(userId, content);
  }

  /** Asks to join the party of another player. */
  async sendActivityJoinRequest(userId: string): Promise<void> {
    const activity = gameActivityOf(this.#core.state, checkId('userId', userId));
    const partyId = textOf(jsonOf(activity ?? {}, 'party') ?? {}, 'id');
    if (activity === null || partyId === null) throw invalid('This user is not in a party of the game.');
    const sessionId = textOf(activity, 'session_id');
    const more = sessionId === null ? {} : { session_id: sessionId };
    await this.#invite(userId, '', { type: ActivityActionTypes.JoinRequest, party_id: partyId, ...more });
  }

  /** Accepts a join request. */
  async sendActivityJoinRequestReply(request: ActivityInvite): Promise<void> {
    if (request.type !== ActivityActionTypes.JoinRequest) throw invalid('This is not a request to join.');
    await this.#inviteTo(request.senderId, '');
  }

  /** @returns the join secret. */
  async acceptActivityInvite(given: ActivityInvite): Promise<string> {
    if (given.type !== ActivityActionTypes.Join) throw invalid('This is not an invite.');
    const isOld = given.messageId !== '' && Date.now() - madeMs(given.messageId) > INVITE_MS;
    if (!given.isValid || isOld) throw invalid('The invite is no longer valid.');
    const at = path`/users/${given.senderId}/sessions/${given.sessionId}/activities/${given.applicationId}`;
    const query = { channel_id: given.channelId || null, message_id: given.messageId || null };
    const answer = await this.#core.http.call({
      method: 'GET',
      path: `${at}/${ActivityActionTypes.Join}`,
      query,
    });
    const secret = isJson(answer) ? textOf(answer, 'secret') : null;
    if (secret === null) throw unexpected('secret');
    this.#core.log.keepSecret(secret);
    return secret;
  }

  setActivityInviteCreatedCallback(callback: (invite: ActivityInvite) => void): Disposer {
    return this.#core.signals.activityInviteCreated.set(callback);
  }

  /** An invite became invalid: its sender left the party. */
  setActivityInviteUpdatedCallback(callback: (invite: ActivityInvite) => void): Disposer {
    return this.#core.signals.activityInviteUpdated.set(callback);
  }

  /** An invite was accepted outside of the game. */
  setActivityJoinCallback(callback: (joinSecret: string) => void): Disposer {
    return this.#core.signals.activityJoin.set(callback);
  }

  setActivityJoinWithApplicationCallback(
    callback: (applicationId: string, joinSecret: string) => void,
  ): Disposer {
    return this.#core.signals.activityJoinWithApplication.set(callback);
  }

  #openLocal(): LocalClient | null {
    const { host, session, applicationIdOr } = this.#core;
    if (host.openLocal === null || session.status !== Status.Disconnected) return null;
    this.#local ??= host.openLocal(applicationIdOr());
    return this.#local;
  }

  async #showLocally(local: LocalClient, activity: Activity): Promise<void> {
    const given = { applicationId: this.#core.applicationIdOr(), name: 'Game' };
    const { metadata: _urls, buttons: _labels, ...wire } = activityToWire(activity, given);
    const buttons = activity.buttons ?? [];
    const sent = activity.name === undefined ? { ...wire, name: undefined } : wire;
    try {
      await local.setActivity({ ...sent, ...(buttons.length > 0 && { buttons }) }, this.#windowPid);
    } catch (error) {
      throw new ClientError(ErrorType.RPCError, messageOf(error));
    }
  }

  #endLocal(): void {
    this.#local?.close();
    this.#local = null;
  }

  /** @throws ClientError of type ClientNotReady when there is no session and none is being connected. */
  #update(change: Partial<PresenceState>): void {
    const { status } = this.#core.session;
    if (status === Status.Disconnected || status === Status.Disconnecting) throw notReady();
    this.#presence = { ...this.#presence, ...change };
    this.#sender.send();
  }

  async #invite(userId: string, content: string, activity: Json): Promise<void> {
    const { http, state, applicationIdOr } = this.#core;
    const id = checkId('userId', userId);
    if ([...content].length > INVITE_CHARS_MAX)
      throw invalid(`The text of an invite must have at most ${INVITE_CHARS_MAX} characters.`);
    const body = { content, activity, application_id: applicationIdOr() };
    const answer = await http.call({ method: 'POST', path: path`/users/${id}/messages`, body });
    adoptMessage(state, answer, { recipientId: id });
  }

  async #inviteTo(userId: string, content: string): Promise<void> {
    const { party, secrets } = this.#presence.activity ?? {};
    const { sessionId } = this.#core.session;
    if (party === undefined || secrets?.join === undefined)
      throw invalid('Set a rich presence with a party and a join secret before inviting.');
    if (sessionId === null) throw notReady();
    const activity = { type: ActivityActionTypes.Join, session_id: sessionId, party_id: party.id };
    await this.#invite(userId, content, activity);
  }
}

function presenceOf(core: Core, { activity, status }: PresenceState): Json {
  const applicationId = core.applicationIdOr();
  const activities = activity === null ? [] : [activityToWire(activity, { applicationId, name: 'Game' })];
  return { since: null, activities, status, afk: false };
}

/** Sends presence updates at the gateway's rate limit. */
function createPresenceSender({ session, log }: Core, body: () => Json) {
  const paced = pacedSender(PRESENCE_PACE, () => {
    if (session.status !== Status.Ready) return;
    try {
      session.send(OP.PRESENCE_UPDATE, body());
    } catch (error) {
      log.warn(`The presence was not sent: ${String(error)}`);
    }
  });
  return {
    send: () => {
      if (session.status === Status.Ready) paced.request();
    },
    stop: paced.stop,
  };
}
