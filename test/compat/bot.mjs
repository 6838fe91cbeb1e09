// One bot of one library: `node bot.mjs <kind> <folder of its packages>`, with API, CDN, TOKEN, GUILD and VOICE_CHANNEL in the
// environment. It answers `!ping <word>` with `pong <word>`, `!join` by entering the voice channel and `!bye` by shutting down as
// its library documents, and prints a line of JSON for each step.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { LIBRARIES } from './libraries.mjs';

const [kind, folder] = process.argv.slice(2);
const { API: api, CDN: cdn, TOKEN: token, GUILD: guildId, VOICE_CHANNEL: voiceChannelId } = process.env;
const resolve = createRequire(join(folder, 'package.json'));

const step = (name, detail) => console.log(JSON.stringify({ step: name, detail }));
const textOf = (error) => [error?.message ?? error, error?.cause?.message].filter(Boolean).join(': ');
const failed = (error) => step('error', textOf(error).slice(0, 300));
process.on('unhandledRejection', failed);
process.on('uncaughtException', failed);

/** Does something, and says how it went. */
const attempt = async (name, run) => {
  try {
    await run();
    step(name);
  } catch (error) {
    step(`${name} failed`, textOf(error));
  }
};

/** Inputs of each library's bot. */
const given = {
  ...{ api, cdn, token, guildId, voiceChannelId, folder, require: resolve },
  ...{ step, failed, attempt },
  /** Does what a message asks for: with `reply(text)`, with `bye()`, and with `join()` if the library is tried in calls. */
  async heard(content, { reply, bye, join }) {
    try {
      if (content?.startsWith('!ping')) await reply(content.replace('!ping', 'pong'));
      else if (content === '!bye') {
        step('leaving');
        await bye();
      } else if (content === '!join' && join) await attempt('voice', join);
    } catch (error) {
      failed(error);
    }
  },
};

try {
  await LIBRARIES[kind](given);
} catch (error) {
  failed(error);
}
