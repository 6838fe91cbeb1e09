import { type ParseArgsConfig, parseArgs } from 'node:util';

type Options = NonNullable<ParseArgsConfig['options']>;
type Values<O extends Options> = ReturnType<typeof parseArgs<{ readonly options: O }>>['values'];

/** Ends a developer's command before it runs. The message is printed, for exit code 2 on standard error. */
export class CommandExit extends Error {
  readonly exitCode: 0 | 2;

  constructor(text: string, exitCode: 0 | 2) {
    super(text);
    this.exitCode = exitCode;
  }
}

/**
 * The options of a developer's command, as `parseArgs` reads them.
 *
 * @param usage Is printed for `--help`, and after what is wrong with an option.
 * @param numbers The options that are whole numbers.
 * @throws CommandExit for `--help` and for a mistake.
 */
export function optionsOf<const O extends Options>(
  args: readonly string[],
  usage: string,
  options: O,
  numbers: readonly (keyof O & string)[] = [],
): Values<O> {
  const parsed = parsing(() =>
    parseArgs({ args: [...args], allowNegative: true, options: { ...options, help: { type: 'boolean' } } }),
  );
  if (parsed instanceof Error) throw new CommandExit(`${parsed.message}\n\n${usage}`, 2);
  const values: Readonly<Record<string, unknown>> = parsed.values;
  if (values.help) throw new CommandExit(usage, 0);
  for (const name of numbers)
    if (values[name] !== undefined && !/^\d+$/.test(String(values[name])))
      throw new CommandExit(`--${name} is a whole number, not "${String(values[name])}".\n\n${usage}`, 2);
  return parsed.values as Values<O>;
}

function parsing<T>(parse: () => T): T | Error {
  try {
    return parse();
  } catch (error) {
    return error as Error;
  }
}

/** Runs `main`. A `CommandExit` ends the process. */
export function runOrExit<T>(main: () => T): T {
  try {
    return main();
  } catch (error) {
    if (!(error instanceof CommandExit)) throw error;
    (error.exitCode === 0 ? process.stdout : process.stderr).write(`${error.message}\n`);
    process.exit(error.exitCode);
  }
}
