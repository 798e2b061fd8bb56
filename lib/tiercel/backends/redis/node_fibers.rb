# frozen_string_literal: true

require_relative "../../clock"
require_relative "deadline"

module Tiercel
  module Backends
    class Redis < Backend
      # Calls several cluster nodes concurrently in one thread. Each node's part of a pipeline runs in a fiber, which
      # pauses once its commands are written. Once all commands are written, the fibers read the replies. This replaces
      # redis-cluster-client's sequential workers.
      #
      # Under a fiber scheduler the nodes are called one after the other, because the scheduler's fibers do the waiting.
      module NodeFibers
        ARMED = :tiercel_redis_node_fiber
        OPEN = :tiercel_redis_node_fibers
        private_constant :ARMED, :OPEN

        # The parts of one pipeline, with the interface of a worker group in redis-cluster-client.
        class Group
          Task = Struct.new(:id, :fiber, :result)
          private_constant :Task

          # @param shared [Array<Symbol>] fiber variables that the parts inherit
          def initialize(shared)
            @shared = shared
            @tasks = []
          end

          # Runs one node's part until its commands are written.
          #
          # @return [void]
          def push(id, *arguments, **options)
            task = Task.new(id)
            shared = left
            deadline = Thread.current[Deadline::VARIABLE]
            task.fiber = Fiber.new(blocking: true) do
              Deadline.set(deadline)
              @shared.zip(shared) { |name, value| Thread.current[name] = value }
              Thread.current[ARMED] = true
              task.result = begin
                yield(*arguments, **options)
              rescue StandardError => error
                error
              end
              left
            end
            @tasks << task
            go_on(task)
          end

          # Reads the replies.
          #
          # @yieldparam id [String] the node
          # @yieldparam result [Object] the part's result or error
          # @return [void]
          def each
            finish_all
            @tasks.each { |task| yield(task.id, task.result) }
            nil
          end

          # Ends unfinished parts and closes their connections.
          #
          # @return [void]
          def close
            @tasks.each { |task| task.fiber.kill if task.fiber.alive? }
            @tasks = []
            nil
          end

          private

          # While other parts remain to be read, each part gets half of the remaining time.
          def finish_all
            waiting = @tasks.select { |task| task.fiber.alive? }
            whole = Thread.current[Deadline::VARIABLE]
            waiting.each_with_index do |task, index|
              now = Clock.monotonic
              share = whole && index < waiting.size - 1 ? now + ((whole - now) / 2) : whole
              go_on(task, share) while task.fiber.alive?
            end
          end

          # Resumes a part. Adds the time that this part uses to the other parts' limits.
          def go_on(task, deadline = nil)
            @shared.zip(task.fiber.resume(deadline)) { |name, value| Thread.current[name] = value }
          end

          def left = @shared.map { |name| Thread.current[name] }
        end

        # The interface that redis-cluster-client expects of its workers.
        class Workers
          # @param shared [Array<Symbol>] see {Group}
          # @param otherwise [#new_group] redis-cluster-client's own workers
          def initialize(shared, otherwise)
            @shared = shared
            @otherwise = otherwise
          end

          # @return [Group]
          def new_group(size:)
            return @otherwise.new_group(size: size) if size == 1 || Fiber.current_scheduler
            Group.new(@shared).tap { |group| (Thread.current[OPEN] ||= []) << group }
          end

          # @return [void]
          def close = @otherwise.close
        end

        # A part calls this when its commands are written, so that the next node's part starts.
        #
        # @param shared [Array<Symbol>] see {Group}
        # @return [void]
        def self.written(shared)
          return unless Thread.current[ARMED]
          Thread.current[ARMED] = false
          deadline = Fiber.yield(shared.map { |name| Thread.current[name] })
          Deadline.set(deadline) if deadline
        end

        # Ends all unfinished parts of the current call.
        #
        # @return [void]
        def self.close_all
          open = Thread.current[OPEN] or return
          Thread.current[OPEN] = nil
          open.each(&:close)
        end
      end
    end
  end
end
