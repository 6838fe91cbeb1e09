import type { Authorization } from '../../engine/oauth/authorization.ts';
import { withMemberList } from '../../engine/session/memberlists.ts';
import { LinkFault } from '../../protocol/faults.ts';
import type { LobbyVoiceRequest, MemberListRequest } from '../../protocol/link.sessions.ts';
import {
  isRequestName,
  type RequestName,
  requestRow,
  type SessionRequest,
} from '../../protocol/sessionrequests.ts';
import type { SessionJournal } from './journal.ports.ts';
import type { GatewaySessionActor } from './session.shell.ts';

/** A request of a session of another shard. @throws LinkFault when no request has this name and input. */
export function requestOf(name: string, input: unknown): SessionRequest {
  const request = { name, input };
  if (!isRequest(request)) throw new LinkFault('failed', 'Malformed request of a session.');
  return request;
}

const isRequest = (request: { readonly name: string; readonly input: unknown }): request is SessionRequest =>
  isRequestName(request.name) && requestRow(request.name).input.accepts(request.input);

/**
 * Whether a session may send a request. An application's permissions for its user expire with its token, although the
 * session receives dispatches until another token resumes it.
 */
export function mayAsk(
  name: RequestName,
  { bot, authorization }: { readonly bot: boolean; readonly authorization: Authorization | null },
  unixMs: number,
): boolean {
  const { scopes, only } = requestRow(name);
  if (bot && only === 'people') return false;
  if (!authorization) return only !== 'applications';
  return unixMs < authorization.expiresMs && scopes.some((scope) => authorization.scopes.has(scope));
}

/**
 * Keeps what a client wants to be shown, for later subscriptions of the session; returns the requests for the owners of the guilds,
 * the new one last.
 */
export function requestMemberList(
  session: GatewaySessionActor,
  request: MemberListRequest,
  journal: SessionJournal | null,
): readonly MemberListRequest[] {
  const before = session.memberLists ?? [];
  const { memberLists, ended } = withMemberList(before, { ...request, atMs: session.nowMs() });
  if (memberLists === before) return [];
  session.memberLists = memberLists;
  journal?.changed(session);
  return [...ended, ...memberLists.slice(-1)];
}

/** Keeps in which calls of lobbies a client is, for later owners of its user and of the lobbies; dispatches correct it. */
export function keepLobbyVoice(
  session: GatewaySessionActor,
  wanted: readonly LobbyVoiceRequest[],
  journal: SessionJournal | null,
): void {
  session.forUser = { ...session.forUser, lobbyVoice: wanted };
  journal?.changed(session);
}
