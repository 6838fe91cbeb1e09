// A sample activity: the unmodified SDK, and what the test asks of it.
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
    const { instanceId, channelId, guildId, platform } = sdk;
    return { instanceId, channelId, guildId, platform };
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
