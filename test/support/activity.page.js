// A sample activity: the unmodified SDK, a room of Colyseus, and what the test asks of them.
import { Client } from '@colyseus/sdk';
import * as library from '@discord/embedded-app-sdk';

/** The class of the SDK, which has the platform's name. */
const [, Sdk] = Object.entries(library).find(([name]) => /^[A-Z][a-z]+SDK$/.test(name));

const heard = [];

globalThis.activity = {
  heard,
  sdk: null,
  async begin(clientId) {
    const sdk = new Sdk(clientId);
    await sdk.ready();
    this.sdk = sdk;
    const { instanceId, channelId, guildId, platform, customId, referrerId } = sdk;
    return { instanceId, channelId, guildId, platform, customId, referrerId };
  },
  async signIn(clientId, scope) {
    const { code } = await this.sdk.commands.authorize({
      client_id: clientId,
      response_type: 'code',
      state: 's',
      prompt: 'none',
      scope,
    });
    return this.exchange(code);
  },
  async askConsent(clientId, scope) {
    const { code } = await this.sdk.commands.authorize({ client_id: clientId, response_type: 'code', scope });
    return this.exchange(code);
  },
  async exchange(code) {
    const answer = await fetch('/.proxy/api/token', { method: 'POST', body: JSON.stringify({ code }) });
    const { access_token } = await answer.json();
    return this.sdk.commands.authenticate({ access_token });
  },
  /** Joins a room that a mapping leads to. Resolves with what everybody in it hears. */
  async say(text) {
    const room = await new Client(`${location.origin}/.proxy/colyseus`).joinOrCreate('table');
    return new Promise((resolve) => {
      room.onMessage('said', resolve);
      room.send('say', text);
    });
  },
  async run(name, args) {
    try {
      return { ok: await this.sdk.commands[name](args) };
    } catch (error) {
      return { error: error.code ?? String(error) };
    }
  },
  async hear(event, args) {
    try {
      await this.sdk.subscribe(event, (data) => heard.push([event, data]), args);
      return null;
    } catch (error) {
      return error.code ?? String(error);
    }
  },
};
