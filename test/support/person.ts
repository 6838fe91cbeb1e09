import { expect } from 'vitest';
import { GatewayClient } from './gateway-client.ts';
import type { TestServer } from './server.ts';

interface AppCommandBody {
  readonly id: string;
  readonly version: string;
  readonly name: string;
  readonly type: number;
  readonly guild_id?: string;
}

/** A message as a person's client shows it. */
interface Shown {
  readonly id: string;
  readonly channel_id: string;
  readonly type: number;
  readonly content: string;
  readonly flags: number;
  readonly author: { readonly id: string };
  readonly components: readonly object[];
  readonly embeds: readonly object[];
  readonly attachments: readonly { readonly filename: string; readonly url: string }[];
  readonly interaction_metadata?: { readonly id: string; readonly type: number };
  readonly message_reference?: { readonly message_id: string };
}

let nonces = 0;

/** A minimal client of a person: it invokes over REST, and receives over its own gateway session. */
export class Person {
  readonly gateway: GatewayClient;
  readonly #server: TestServer;
  readonly #token: string;
  readonly #applicationId: string;

  private constructor(server: TestServer, gateway: GatewayClient, index: number, applicationId: string) {
    this.#server = server;
    this.gateway = gateway;
    this.#token = server.info.users[index]!.token;
    this.#applicationId = applicationId;
  }

  static async of(server: TestServer, { index = 0, bot = 0 } = {}): Promise<Person> {
    const gateway = await GatewayClient.ready(server.info.gateway, {
      token: server.info.users[index]!.token,
    });
    return new Person(server, gateway, index, server.info.bots[bot]!.application_id);
  }

  get userId(): string {
    return this.gateway.userId;
  }

  /** A request to POST /interactions; files under their ids in the request. */
  async ask(
    body: Readonly<Record<string, unknown>>,
    files: Readonly<Record<string, string>> = {},
  ): Promise<{
    readonly status: number;
    readonly body: { readonly code: number; readonly errors?: unknown };
  }> {
    const { text_channel_id: channelId, id: guildId } = this.#server.info.guild;
    const whole = {
      ...{ application_id: this.#applicationId, guild_id: guildId, channel_id: channelId },
      session_id: this.gateway.sessionId,
      ...body,
    };
    const form = new FormData();
    form.set('payload_json', JSON.stringify(whole));
    for (const [id, name] of Object.entries(files)) form.set(`files[${id}]`, new Blob(['bytes']), name);
    const hasFiles = Object.keys(files).length > 0;
    const response = await fetch(`${this.#server.info.api}/v10/interactions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${this.#token}`,
        ...(!hasFiles && { 'content-type': 'application/json' }),
      },
      body: hasFiles ? form : JSON.stringify(whole),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? null : JSON.parse(text) };
  }

  /** Sends it and expects it to be accepted. @returns the interaction's id and its nonce. */
  async send(
    body: Readonly<Record<string, unknown>>,
    files: Readonly<Record<string, string>> = {},
  ): Promise<{ readonly id: string; readonly nonce: string }> {
    nonces += 1;
    const nonce = String(nonces);
    const reply = await this.ask({ ...body, nonce }, files);
    if (reply.status !== 204) expect.fail(JSON.stringify(reply.body));
    const { id } = await this.gateway.dispatch<{ id: string }>(
      'INTERACTION_CREATE',
      (d) => d.nonce === nonce,
    );
    return { id, nonce };
  }

  slash(
    { id, version, name, type, guild_id }: AppCommandBody,
    options: readonly object[] = [],
    more: object = {},
    files: Readonly<Record<string, string>> = {},
  ) {
    const data = { id, version, name, type, ...(guild_id && { guild_id }), options, ...more };
    return this.send({ type: 2, data }, files);
  }

  click(
    { id, flags = 0, channel_id }: Pick<Shown, 'id' | 'flags' | 'channel_id'>,
    customId: string,
    more: object = {},
  ) {
    return this.send({
      ...{ type: 3, message_id: id, message_flags: flags, channel_id },
      data: { component_type: 2, custom_id: customId, ...more },
    });
  }

  /** The message that answers an interaction. */
  answer(id: string): Promise<Shown> {
    return this.gateway.dispatch<Shown & Record<string, unknown>>('MESSAGE_CREATE', (d) => madeBy(d, id));
  }

  update(id: string): Promise<Shown> {
    return this.gateway.dispatch<Shown & Record<string, unknown>>('MESSAGE_UPDATE', (d) => d.id === id);
  }

  hears(t: string, nonce: string): Promise<Record<string, unknown>> {
    return this.gateway.dispatch(t, (d) => d.nonce === nonce);
  }

  close(): void {
    this.gateway.close();
  }
}

const madeBy = (d: Record<string, unknown>, id: string): boolean =>
  (d.interaction_metadata as { id: string } | undefined)?.id === id;
