import { DispatchBody } from '../../engine/fanout/body.ts';
import type { MissedFrame, PlainPrincipal } from '../../engine/session/record.ts';
import type { Principal } from './ports.ts';

/** The serializable form for journals and links. */
export const plainOf = ({ authorization, ...rest }: Principal): PlainPrincipal => ({
  ...rest,
  authorization: authorization && { ...authorization, scopes: [...authorization.scopes] },
});

export const principalOf = ({ authorization, ...rest }: PlainPrincipal): Principal => ({
  ...rest,
  authorization: authorization && { ...authorization, scopes: new Set(authorization.scopes) },
});

export const frameOf = (body: DispatchBody, nowMs: number): MissedFrame => ({
  t: body.t,
  json: body.json,
  origin: body.origin,
  ageMs: nowMs - body.bornMs,
});

export const bodyOf = ({ t, json, origin, ageMs }: MissedFrame, nowMs: number): DispatchBody =>
  DispatchBody.ofJson(t, json, nowMs - ageMs, origin);
