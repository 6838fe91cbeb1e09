// Runs the bot: BOT_TOKEN=… node main.js. With GUILDHALL_URL='' it connects to the platform itself.
import { startBot } from './bot.js';

const { BOT_TOKEN: token, GUILDHALL_URL: url = 'http://127.0.0.1:3000' } = process.env;
if (!token) {
  console.error('Set BOT_TOKEN to the token of your bot; `npx guildhall dev` prints one.');
  process.exit(1);
}
const rest = url === '' ? undefined : { api: `${url}/api`, cdn: url, mediaProxy: url, version: '10' };
const client = await startBot({ token, rest });
console.log(`${client.user.tag} is connected: write /roll in a channel. Stop with Ctrl-C.`);
