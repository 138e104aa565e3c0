// $WRITTEN
// Memory without asking, for opencode 2: it calls `graphmem hook` and never fails.
import { spawn } from "node:child_process"

const LINE = $LINE

function hook(event, input) {
  return new Promise((resolve) => {
    let text = ""
    const [program, ...words] = LINE
    const child = spawn(program, [...words, event, "--agent", "opencode"], { stdio: ["pipe", "pipe", "ignore"] })
    child.on("error", () => resolve(""))
    child.stdin.on("error", () => {})
    child.stdout.on("data", (data) => (text += data))
    child.on("close", () => resolve(text))
    child.stdin.end(JSON.stringify(input))
  })
}

export default {
  id: "graphmem",
  setup: async (ctx) => {
    const sessions = new Map()

    const of = async (id) => {
      if (!sessions.has(id)) {
        const info = await Promise.resolve(ctx.session.get({ sessionID: id })).catch(() => undefined)
        const cwd = info?.location?.directory ?? info?.directory ?? process.cwd()
        sessions.set(id, { cwd, start: await hook("session-start", { session_id: id, cwd }), told: "", texts: new Map() })
      }
      return sessions.get(id)
    }

    await ctx.session.hook("prompt", async (event) => {
      const session = await of(event.sessionID)
      Object.assign(session, { turn: event.messageID, prompt: event.prompt?.text ?? "", texts: new Map() })
      session.told = await hook("prompt", { session_id: event.sessionID, cwd: session.cwd, prompt: session.prompt })
    })

    await ctx.session.hook("context", async (event) => {
      if (event.kind !== "primary") return
      const session = await of(event.sessionID)
      for (const text of [session.start, session.told]) if (text) event.system.push({ type: "text", text })
    })

    const watch = async () => {
      for await (const { type, data } of ctx.event.subscribe()) {
        const session = sessions.get(data?.sessionID)
        if (!session) continue
        if (type === "session.text.ended") session.texts.set(data.assistantMessageID, data.text)
        if (type === "session.execution.succeeded" && session.turn) {
          const answer = [...session.texts.values()].at(-1) ?? ""
          await hook("stop", {
            session_id: data.sessionID, turn_id: session.turn, cwd: session.cwd, prompt: session.prompt, text: answer,
          })
        }
      }
    }
    watch().catch(() => {})
  },
}
