import { mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { rpcLaunchScheme } from '../../protocol/rpc.ts';

/** Where the registration goes. */
interface LaunchEnvironment {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: string;
}

const COMMAND_CHARS_MAX = 4_096;

/**
 * Registers the command that starts a game when the link of its application is opened, as a desktop entry of this
 * user. Only on Linux and other desktops of freedesktop.org.
 *
 * @param command A program with its arguments, or a URL.
 * @returns false on other platforms, for an invalid command, and where the entry cannot be written.
 * @source https://specifications.freedesktop.org/desktop-entry-spec/latest/
 */
export function registerLaunchCommand(
  applicationId: string,
  command: string,
  { env, platform }: LaunchEnvironment = process,
): boolean {
  const isValid = command !== '' && command.length <= COMMAND_CHARS_MAX && !/\p{Cc}/u.test(command);
  if (!isValid || !/^\d{1,20}$/.test(applicationId) || platform === 'win32' || platform === 'darwin')
    return false;
  const scheme = rpcLaunchScheme(applicationId);
  // A percent sign begins a field code of the entry.
  const escaped = command.replaceAll('%', '%%');
  const run = /^[a-z][a-z\d+.-]*:\/\//i.test(command) ? `xdg-open "${escaped}"` : `${escaped} %u`;
  const folder = join(env.XDG_DATA_HOME || join(env.HOME || homedir(), '.local/share'), 'applications');
  const lines = [
    '[Desktop Entry]',
    'Type=Application',
    `Name=Game ${applicationId}`,
    `Exec=${run}`,
    'NoDisplay=true',
    `MimeType=x-scheme-handler/${scheme};`,
  ];
  try {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${scheme}.desktop`), `${lines.join('\n')}\n`, { mode: 0o644 });
    return true;
  } catch {
    return false;
  }
}
