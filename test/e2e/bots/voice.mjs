// A bot with an unmodified discord.js and @discordjs/voice, told what to do over IPC. Every command is answered with
// `{ id, value }` or `{ id, error }`. The network it sees can be cut: that is done beneath the library, at the socket.
import dgram from 'node:dgram';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

let cut = false;
const realSend = dgram.Socket.prototype.send;
dgram.Socket.prototype.send = function send(...given) {
  if (!cut) realSend.apply(this, given);
};
const realEmit = dgram.Socket.prototype.emit;
dgram.Socket.prototype.emit = function emit(name, ...given) {
  return cut && name === 'message' ? false : realEmit.call(this, name, ...given);
};

/** Connections begun while there is no network: they wait, as they would. */
const waiting = [];
const realConnect = net.Socket.prototype.connect;
net.Socket.prototype.connect = function connect(...given) {
  if (!cut) return realConnect.apply(this, given);
  waiting.push(() => realConnect.apply(this, given));
  return this;
};

const { Client, GatewayIntentBits } = await import('discord.js');
const voice = await import('@discordjs/voice');

const client = new Client({
  intents: [GatewayIntentBits.Guilds, GatewayIntentBits.GuildVoiceStates],
  rest: { api: process.env.API, version: '10' },
});
/** Events in order, with the bot's clock. */
const log = [];
const note = (what) => log.push({ atMs: Date.now(), what });
const recordings = new Map();
let connection = null;
let player = null;

function watch(made) {
  made.on('stateChange', (before, after) => {
    note(`${before.status} -> ${after.status}${after.closeCode ? ` ${after.closeCode}` : ''}`);
    if (after.networking && after.networking !== before.networking)
      after.networking.once('close', (code) => note(`closed with ${code}`));
  });
  made.on('debug', (message) => note(message.slice(0, 300)));
  made.on('error', (error) => note(`error ${error.message}`));
  made.on('transitioned', (id) => note(`transitioned ${id}`));
  made.receiver.speaking.on('start', (userId) => note(`speaking ${userId}`));
}

const daveOf = () => connection?.state.networking?.state.dave ?? null;

const COMMANDS = {
  async login() {
    const ready = once(client, 'clientReady');
    await client.login(process.env.TOKEN);
    await ready;
    return client.user.id;
  },
  async join({ guildId, channelId, encryption = true, withinMs = 20_000 }) {
    const guild = await client.guilds.fetch(guildId);
    const { joinVoiceChannel, entersState, VoiceConnectionStatus } = voice;
    const adapterCreator = guild.voiceAdapterCreator;
    connection = joinVoiceChannel({
      ...{ guildId, channelId, adapterCreator, selfDeaf: false, selfMute: false, debug: true },
      daveEncryption: encryption,
    });
    watch(connection);
    await entersState(connection, VoiceConnectionStatus.Ready, withinMs);
    return connection.state.status;
  },
  /** Waits until the encrypted group holds exactly these users; answers the code to compare. */
  async secured({ userIds, withinMs = 20_000 }) {
    const wanted = [...userIds].sort().join();
    const endMs = Date.now() + withinMs;
    while (Date.now() < endMs) {
      const dave = daveOf();
      const session = dave?.session;
      if (session?.ready && [...session.getUserIds()].sort().join() === wanted && dave.voicePrivacyCode)
        return dave.voicePrivacyCode;
      await sleep(20);
    }
    throw new Error(`The group is ${daveOf()?.session?.getUserIds()} and not ${wanted}.`);
  },
  play({ file }) {
    player ??= voice.createAudioPlayer({ behaviors: { noSubscriber: 'play' } });
    player.removeAllListeners('error');
    player.on('error', (error) => note(`player ${error.message}`));
    connection.subscribe(player);
    player.play(voice.createAudioResource(createReadStream(file), { inputType: voice.StreamType.OggOpus }));
  },
  stop() {
    player?.stop(true);
  },
  record({ userId }) {
    const packets = [];
    recordings.set(userId, packets);
    const stream = connection.receiver.subscribe(userId, { end: { behavior: voice.EndBehaviorType.Manual } });
    stream.on('data', (packet) => packets.push(packet));
    stream.on('error', (error) => note(`stream ${error.message}`));
  },
  recorded({ userId }) {
    return (recordings.get(userId) ?? []).map((packet) => packet.toString('base64'));
  },
  forget({ userId }) {
    recordings.get(userId)?.splice(0);
  },
  status() {
    const { networking } = connection.state;
    return {
      status: connection.state.status,
      networking: networking?.state.code ?? null,
      channelId: connection.joinConfig.channelId,
    };
  },
  /** Waits until `status` is the connection's. */
  async enters({ status, withinMs = 20_000 }) {
    await voice.entersState(connection, status, withinMs);
  },
  cut({ on }) {
    cut = on;
    if (!on) {
      for (const begin of waiting.splice(0)) begin();
      return;
    }
    // Destroys the socket, as a machine sees it that loses its network.
    connection.state.networking?.state.ws?.ws._socket?.destroy();
  },
  leave() {
    connection?.destroy();
  },
  log: () => log,
};

process.on('message', async ({ id, command, given }) => {
  try {
    process.send({ id, value: (await COMMANDS[command](given ?? {})) ?? null });
  } catch (error) {
    process.send({ id, error: `${error?.message ?? error}; ${JSON.stringify(log.slice(-25))}` });
  }
});
process.on('disconnect', () => process.exit(0));
process.send({ id: 0, value: 'up' });
