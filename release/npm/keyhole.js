#!/usr/bin/env node
'use strict'
// Starts the program of the package for this system. It has this process's own input
// and output, is sent the signals that this one gets, and this one ends as it ends.

const { spawn } = require('node:child_process')
const { constants } = require('node:os')
const { join, sep } = require('node:path')
const { optionalDependencies } = require('./package.json')

function fail(why) {
  process.stderr.write(`keyhole: ${why}\n`)
  process.exit(1)
}

// The folder that all packages of this installation lie in. Node also looks in each
// folder above it, where others may be able to write, and on NODE_PATH.
function installation() {
  const folder = `${sep}node_modules${sep}`
  const start = __dirname.indexOf(folder)
  return start < 0 ? join(__dirname, folder) : __dirname.slice(0, start + folder.length)
}

function program() {
  const system = `${process.platform}-${process.arch}`
  const name = Object.keys(optionalDependencies).find((one) => one.endsWith(`/${system}`))
  if (!name) fail(`there is no program for this system (${system})`)
  try {
    const found = require.resolve(`${name}/bin/keyhole`)
    // Yarn's Plug'n'Play has no such folder, and looks up nothing but what is installed.
    if (process.versions.pnp || found.startsWith(installation())) return found
  } catch {
    // Not there.
  }
  return fail(`${name}, which holds the program for this system, is not installed; ` +
    'install again, on this system and with optional packages (npm install --include=optional)')
}

const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM']

// First, so that no signal ends this process and leaves the program behind. They are
// handled when this script has ended, and then there is a child.
let child
for (const signal of SIGNALS) process.on(signal, () => child.kill(signal))
child = spawn(program(), process.argv.slice(2), { stdio: 'inherit' })
child.on('error', (error) => fail(`the program cannot be started: ${error.code}`))
child.on('exit', (code, signal) => {
  if (!signal) process.exit(code)
  for (const own of SIGNALS) process.removeAllListeners(own)
  // If this signal does not end us: the shell's number for it.
  process.exitCode = 128 + constants.signals[signal]
  process.kill(process.pid, signal)
})
