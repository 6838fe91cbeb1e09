import type { ApplicationId } from '../../protocol/ids.ts';
import { invalidField, type Refusal } from '../../protocol/refusal.ts';
import type { EndpointAnswer, EndpointSender } from './endpoint.ts';

/** The purpose of an application's URL. */
type EndpointKind = 'interactions' | 'events';

interface Rules {
  readonly field: string;
  readonly code: string;
  ping(applicationId: ApplicationId): object;
  /** Whether the answer to the PING is right. */
  isPong(answer: Extract<EndpointAnswer, { ok: true }>): boolean;
  readonly pong: string;
}

const RULES: Readonly<Record<EndpointKind, Rules>> = {
  /** @source https://docs.discord.com/developers/interactions/overview#setting-up-an-endpoint-acknowledging-ping-requests */
  interactions: {
    field: 'interactions_endpoint_url',
    code: 'APPLICATION_INTERACTIONS_ENDPOINT_URL_INVALID',
    ping: (applicationId) => ({
      ...{ id: applicationId, application_id: applicationId, type: 1, token: '', version: 1 },
      ...{ entitlements: [], authorizing_integration_owners: {}, attachment_size_limit: 0 },
    }),
    isPong: ({ status, body }) => status === 200 && typeOf(body) === 1,
    pong: 'status 200 and {"type": 1}',
  },
  /** @source https://docs.discord.com/developers/events/webhook-events#setting-up-an-endpoint-acknowledging-ping-requests */
  events: {
    field: 'event_webhooks_url',
    code: 'APPLICATION_EVENT_WEBHOOKS_URL_INVALID',
    ping: (applicationId) => ({ version: 1, application_id: applicationId, type: 0 }),
    isPong: ({ status }) => status === 204,
    pong: 'status 204',
  },
};

const UNAUTHORIZED = 401;

function typeOf(body: Uint8Array): unknown {
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString());
    return typeof value === 'object' && value !== null && 'type' in value ? value.type : null;
  } catch {
    return null;
  }
}

const FAILURES = {
  unreachable: 'it could not be reached',
  timeout: 'it did not answer in time',
  refused: 'it is not a public https address',
  busy: 'too many requests to this application are in progress',
} as const;

/**
 * Why a URL may not be used: it must answer a signed PING rightly, and one with a wrong signature with 401. Null when it may.
 * The text is for the application's developer.
 */
export async function endpointFault(
  sender: EndpointSender,
  kind: EndpointKind,
  applicationId: ApplicationId,
  url: string,
): Promise<string | null> {
  const { ping, isPong, pong } = RULES[kind];
  const body = ping(applicationId);
  const [answer, forged] = await Promise.all([
    sender.post(applicationId, url, body),
    sender.postForged(applicationId, url, body),
  ]);
  if (!answer.ok) return FAILURES[answer.reason];
  if (!isPong(answer)) return `it answered a PING with status ${answer.status}, not with ${pong}`;
  if (!forged.ok) return FAILURES[forged.reason];
  if (forged.status !== UNAUTHORIZED)
    return `it answered a PING with a wrong signature with status ${forged.status}, not with ${UNAUTHORIZED}`;
  return null;
}

/** The refusal of a URL that is about to be stored; null when it may be used. */
export async function endpointRefusal(
  sender: EndpointSender,
  kind: EndpointKind,
  applicationId: ApplicationId,
  url: string,
): Promise<Refusal | null> {
  const fault = await endpointFault(sender, kind, applicationId, url);
  if (fault === null) return null;
  const { field, code } = RULES[kind];
  return invalidField([field], code, `The URL could not be verified: ${fault}.`);
}
