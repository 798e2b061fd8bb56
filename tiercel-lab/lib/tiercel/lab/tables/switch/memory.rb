# frozen_string_literal: true

require "fiddle"

module Tiercel::Lab
  module Tables
    module Switch
      # Builds a store in a separate process, forks workers that read and write the same entries, and adds up the memory
      # of the workers.
      class Memory
        # Number of reads of every entry by each worker, so that a store which keeps values in the process has kept
        # them.
        PASSES = 2
        # Every store has room for all entries and no more than an application gives it.
        CAPACITY_BYTES = 32 * 1024 * 1024

        # @return [Hash] an outcome with "bytes" of all workers, "trimmed" (after freed memory was returned), "grown"
        #   (by their entries, after that) and "server_bytes"
        def hold(text:, value:, entries:, workers:, seed:, context:)
          Engine::Outcome.of do
            context = Engine::Context.new(**context, capacity_bytes: CAPACITY_BYTES)
            contestant = Contestants.parse(text)
            contestant.load_gems
            objects = Values.from_spec(value).generate(seed)
            server_pids = context.server_pids(contestant.servers)
            server = server_bytes(server_pids)
            Process.warmup if Process.respond_to?(:warmup)
            forked = Array.new(workers) { worker(contestant, context, objects, entries) }
            before = forked.map { |one| one.fetch(:bytes) }.sum
            forked.each { |one| one[:go].puts("fill") } # the first of them writes, all read
            forked.each do |one|
              line = one[:said].gets.to_s
              raise CannotRun, line.strip unless line == "full\n"
            end
            bytes = memory_of(forked)
            forked.each { |one| one[:go].puts("trim") }
            forked.each { |one| one[:said].gets }
            trimmed = memory_of(forked)
            { bytes:, trimmed:, grown: trimmed && (trimmed - before),
              server_bytes: server && (server_bytes(server_pids) - server) }
          ensure
            forked.to_a.each { |one| stop(one) }
            context.clean_up
          end
        end

        private

        def memory_of(forked) = Engine::ResidentMemory.bytes(forked.map { |one| one[:pid] })

        def server_bytes(pids) = pids.any? ? Engine::ResidentMemory.bytes(pids) : nil

        def worker(contestant, context, objects, entries)
          wait, go = IO.pipe
          said, say = IO.pipe
          pid = fork { run(contestant, context, objects, entries, wait, say) }
          [wait, say].each(&:close)
          line = said.gets.to_s
          raise CannotRun, line.strip unless line.start_with?("built:")
          { pid:, go:, said:, bytes: line[/\d+/].to_i }
        end

        def run(contestant, context, objects, entries, wait, say)
          store = contestant.build(context)
          trim
          say.puts("built:#{Engine::ResidentMemory.bytes([Process.pid])}")
          wait.gets
          names = Array.new(entries) { |index| "entry:#{index}" }
          PASSES.times do
            names.each_with_index do |name, index|
              store.read(name) || store.write(name, "#{objects[index % objects.size]}#{index}")
            end
          end
          say.puts("full")
          wait.gets
          trim
          say.puts("trimmed")
          wait.gets
        rescue StandardError, LoadError => e
          say.puts("#{e.class}: #{e.message}")
        ensure
          exit!(0)
        end

        # Returns freed memory to the system. The copies that reads return are garbage by now, and do not belong to a
        # store.
        def trim
          3.times { GC.start }
          Fiddle::Function.new(Fiddle.dlopen(nil)["malloc_trim"], [Fiddle::TYPE_SIZE_T], Fiddle::TYPE_INT).call(0)
        rescue Fiddle::DLError
          nil # only glibc has it
        end

        def stop(one)
          one.values_at(:go, :said).each(&:close)
          Process.kill(:KILL, one[:pid]) # later workers hold the pipes of earlier ones
          Process.wait(one[:pid])
        rescue Errno::ECHILD, Errno::ESRCH
          nil
        end
      end
    end
  end
end
