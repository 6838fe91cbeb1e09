import WebSocket from 'ws';

const INTENTS = { GUILDS: 1, PRESENCES: 1 << 8 };
const OP = { DISPATCH: 0, HEARTBEAT: 1, IDENTIFY: 2, HELLO: 10 };
const READY_MS = 30_000;

/** A session that notes who is shown with which status, and since when; it is not connected through the cutter. */
export async function openWatcher(port, token) {
  const shown = new Map();
  const socket = new WebSocket(`ws://127.0.0.1:${port}/?v=10&encoding=json`);
  const say = (op, d) => socket.send(JSON.stringify({ op, d }));
  let seq = null;
  let beating = null;
  const properties = { os: 'linux', browser: 'compat', device: 'compat' };
  const note = ({ user, status }) => shown.set(user.id, { status, atMs: performance.now() });
  const ready = new Promise((done, failed) => {
    setTimeout(() => failed(new Error('The watcher of presences got no guild.')), READY_MS).unref();
    socket.on('error', failed);
    socket.on('message', (text) => {
      const { op, d, s, t } = JSON.parse(text);
      seq = s ?? seq;
      if (op === OP.HELLO) {
        beating = setInterval(() => say(OP.HEARTBEAT, seq), d.heartbeat_interval);
        say(OP.IDENTIFY, { token, intents: INTENTS.GUILDS | INTENTS.PRESENCES, properties });
      } else if (t === 'PRESENCE_UPDATE') note(d);
      else if (t === 'GUILD_CREATE') {
        for (const presence of d.presences) note(presence);
        done();
      }
    });
  });
  const close = () => {
    clearInterval(beating);
    socket.terminate();
  };
  await ready;
  return { shown, close };
}
