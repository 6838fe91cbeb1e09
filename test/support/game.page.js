/** The page of a game, as a bundler takes it: a client with the sound of this page. What is on `globalThis`, tests use. */
import { AuthorizationTokenType, Client, createBrowserAudio } from '../../sdk/index.ts';

globalThis.join = async (token, secret) => {
  const client = new Client({
    createAudio: () =>
      createBrowserAudio({
        openWorker: () => new Worker(new URL('./game.worker.js', import.meta.url), { type: 'module' }),
      }),
  });
  await client.updateToken(AuthorizationTokenType.Bearer, token);
  await client.connect();
  const lobbyId = await client.createOrJoinLobby(secret);
  const call = client.startCall(lobbyId);
  await call.connected();
  // What cleans up speech takes a steady tone for noise.
  client.setNoiseSuppression(false);
  client.setEchoCancellation(false);
  client.setAutomaticGainControl(false);
  Object.assign(globalThis, { client, call });
  return { id: client.getCurrentUserV2().id, lobbyId };
};
