import type { ConnectionError, Status } from '../enums.ts';
import { Signal } from '../signal.ts';
import type { InviteRecord, Notice } from '../store/store.ts';

/** All events of a client. */
export interface Signals {
  readonly statusChanged: Signal<[status: Status, error: ConnectionError, errorDetail: number]>;
  readonly lobbyCreated: Signal<[lobbyId: string]>;
  readonly lobbyUpdated: Signal<[lobbyId: string]>;
  readonly lobbyDeleted: Signal<[lobbyId: string]>;
  readonly lobbyMemberAdded: Signal<[lobbyId: string, memberId: string]>;
  readonly lobbyMemberUpdated: Signal<[lobbyId: string, memberId: string]>;
  readonly lobbyMemberRemoved: Signal<[lobbyId: string, memberId: string]>;
  readonly messageCreated: Signal<[messageId: string]>;
  readonly messageUpdated: Signal<[messageId: string]>;
  readonly messageDeleted: Signal<[messageId: string, channelId: string]>;
  readonly relationshipCreated: Signal<[userId: string, isPlatformRelationshipUpdate: boolean]>;
  readonly relationshipDeleted: Signal<[userId: string, isPlatformRelationshipUpdate: boolean]>;
  readonly relationshipGroupsUpdated: Signal<[userId: string]>;
  readonly userUpdated: Signal<[userId: string]>;
  readonly activityInviteCreated: Signal<[invite: InviteRecord]>;
  readonly activityInviteUpdated: Signal<[invite: InviteRecord]>;
  readonly activityJoin: Signal<[joinSecret: string]>;
  readonly activityJoinWithApplication: Signal<[applicationId: string, joinSecret: string]>;
  readonly tokenExpiration: Signal<[]>;
  readonly authorizeRequest: Signal<[]>;
  readonly authorizeDeviceScreenClosed: Signal<[]>;
  /** The server rejected the client's token. */
  readonly unauthorized: Signal<[]>;
}

export function createSignals(complain: (error: unknown) => void): Signals {
  const signal = <Args extends readonly unknown[]>() => new Signal<Args>(complain);
  return {
    statusChanged: signal(),
    lobbyCreated: signal(),
    lobbyUpdated: signal(),
    lobbyDeleted: signal(),
    lobbyMemberAdded: signal(),
    lobbyMemberUpdated: signal(),
    lobbyMemberRemoved: signal(),
    messageCreated: signal(),
    messageUpdated: signal(),
    messageDeleted: signal(),
    relationshipCreated: signal(),
    relationshipDeleted: signal(),
    relationshipGroupsUpdated: signal(),
    userUpdated: signal(),
    activityInviteCreated: signal(),
    activityInviteUpdated: signal(),
    activityJoin: signal(),
    activityJoinWithApplication: signal(),
    tokenExpiration: signal(),
    authorizeRequest: signal(),
    authorizeDeviceScreenClosed: signal(),
    unauthorized: signal(),
  };
}

/** Emits one change of the store to the application. */
export function emitNotice(signals: Signals, notice: Notice): void {
  switch (notice.type) {
    case 'lobbyCreated':
    case 'lobbyUpdated':
    case 'lobbyDeleted':
      signals[notice.type].emit(notice.lobbyId);
      break;
    case 'lobbyMemberAdded':
    case 'lobbyMemberUpdated':
    case 'lobbyMemberRemoved':
      signals[notice.type].emit(notice.lobbyId, notice.memberId);
      break;
    case 'messageCreated':
    case 'messageUpdated':
      signals[notice.type].emit(notice.messageId);
      break;
    case 'messageDeleted':
      signals.messageDeleted.emit(notice.messageId, notice.channelId);
      break;
    case 'relationshipCreated':
    case 'relationshipDeleted':
      signals[notice.type].emit(notice.userId, notice.isPlatform);
      break;
    case 'relationshipGroupsUpdated':
    case 'userUpdated':
      signals[notice.type].emit(notice.userId);
      break;
    case 'activityInviteCreated':
    case 'activityInviteUpdated':
      signals[notice.type].emit(notice.invite);
      break;
  }
}
