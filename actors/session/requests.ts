import type { Authorization } from '../../engine/oauth/authorization.ts';
import { LinkFault } from '../../protocol/faults.ts';
import {
  isRequestName,
  type RequestName,
  requestRow,
  type SessionRequest,
} from '../../protocol/sessionrequests.ts';

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
