// The game's server: an engine, the rules, a bot player, and the page.
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { createEngine } from 'guildhall';
import { startBot } from './bot.js';
import { lanterns } from './game.js';

const FILES = {
  '/': { type: 'text/html', path: new URL('public/index.html', import.meta.url) },
  '/page.js': { type: 'text/javascript', path: new URL('public/page.js', import.meta.url) },
  '/sdk.js': { type: 'text/javascript', path: import.meta.resolve('guildhall/sdk.js') },
};
const NAME_CHARS_MAX = 32;

/** Starts everything; port 0 picks a free one. In memory: set `data_dir` or `database_url` to keep what players have. */
export async function startGame({ port = 8080, enginePort = 3000, config = {} } = {}) {
  const engine = await createEngine({ config: { log_level: 'warn', listen_port: enginePort, ...config } });
  engine.lobbies.defineLobby('lanterns', lanterns);
  const { api } = await engine.listen();
  const { bot: gameServer } = await engine.admin.createApplication({ name: 'Lanterns' });

  // Players sign in with you, in whichever way they do; then you ask the engine for a token in their name.
  let guests = 0;
  const tokenOf = async (name) => {
    guests += 1;
    const body = { external_user_id: `guest-${guests}-${Date.now()}`, preferred_global_name: name };
    const { access_token: token } = await engine.api.bot_partner_sdk_token({ body }, { as: gameServer.id });
    return token;
  };

  const bot = await startBot({ api, token: await tokenOf('Moth') });
  const page = createServer((request, response) => {
    answer(request, response).catch((error) => {
      console.error(error);
      response.writeHead(500).end();
    });
  });

  async function answer(request, response) {
    const { pathname, searchParams } = new URL(request.url, 'http://page');
    if (request.method === 'POST' && pathname === '/play') {
      const name = (searchParams.get('name') ?? '').trim().slice(0, NAME_CHARS_MAX) || 'Guest';
      const session = { api, lobbyId: bot.lobbyId(), token: await tokenOf(name) };
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(session));
    } else if (request.method === 'GET' && pathname in FILES) {
      const { type, path } = FILES[pathname];
      const body = await readFile(fileURLToPath(path));
      response.writeHead(200, { 'Content-Type': `${type};charset=utf-8` }).end(body);
    } else response.writeHead(404).end();
  }

  await new Promise((resolve) => page.listen(port, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${page.address().port}/`,
    engine,
    async stop() {
      bot.stop();
      page.close();
      page.closeAllConnections();
      await engine.close();
    },
  };
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { url } = await startGame({ port: Number(process.env.PORT ?? 8080) });
  console.log(`Play at ${url} (open it in two windows). Stop with Ctrl-C.`);
}
