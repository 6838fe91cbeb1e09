// One bot of one library: `node bot.mjs <kind> <folder of its packages>`, with API, CDN, TOKEN, GUILD and VOICE_CHANNEL in the
// environment. It answers `!ping <word>` with `pong <word>` and `!join` by entering the voice channel, and prints a line of
// JSON for each step.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { LIBRARIES } from './libraries.mjs';

const [kind, folder] = process.argv.slice(2);
const { API: api, CDN: cdn, TOKEN: token, GUILD: guildId, VOICE_CHANNEL: voiceChannelId } = process.env;
const resolve = createRequire(join(folder, 'package.json'));

const step = (name, detail) => console.log(JSON.stringify({ step: name, detail }));
const failed = (error) => step('error', String(error?.message ?? error).slice(0, 300));
process.on('unhandledRejection', failed);
process.on('uncaughtException', failed);

/** What each library's bot is given. */
const given = {
  ...{ api, cdn, token, guildId, voiceChannelId, folder, require: resolve },
  step,
  failed,
  /** The answer to a message; null: none. */
  answer: (content) => (content?.startsWith('!ping') ? content.replace('!ping', 'pong') : null),
};

try {
  await LIBRARIES[kind](given);
} catch (error) {
  failed(error);
}
