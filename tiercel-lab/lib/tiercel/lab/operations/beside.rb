# frozen_string_literal: true

require "delegate"
require "io/wait"

module Tiercel
  module Lab
    module Operations
      # A hit while another process writes other names into the same store, on another CPU if there is one.
      define "read_beside_writer", "a hit while another process writes", like: "read" do
        def setup(arm)
          super
          parent, child = IO.pipe
          pid = fork { write_until_closed(arm, parent, child) }
          parent.close
          @writers = [*@writers, [pid, child]]
          move_away(pid)
        end

        def leave
          (@writers || []).each do |pid, pipe|
            pipe.close
            Process.wait(pid)
          end
          @writers = []
        end

        def written(arm) = arm.names + Array.new(arm.count) { |index| other_name(arm, index) }

        private

        # Writes with a pause between two writes.
        def write_until_closed(arm, parent, child)
          # Closes the pipes of earlier writers too: a pipe ends when its last holder closes it.
          [child, *(@writers || []).map(&:last)].each(&:close)
          index = 0
          until parent.wait_readable(0.0002)
            arm.store.write(other_name(arm, index % arm.count), arm.values[index % arm.values.size])
            index += 1
          end
        ensure
          exit!(0)
        end

        def other_name(arm, index) = "#{arm.names.first}-other-#{index}"

        def move_away(pid)
          cpu = ENV.fetch("TIERCEL_LAB_OTHER_CPU", "")
          return if cpu.empty?
          system("taskset", "--pid", "--cpu-list", cpu, pid.to_s, out: File::NULL, err: File::NULL)
        end
      end

      # Another operation while a subscriber receives Rails' cache notifications, as an APM agent or the log does. The
      # subscriber is a block with name, start, end, id and payload, or a block with an event object. For the latter
      # Rails reads the thread's CPU time and allocations.
      class Subscribed < SimpleDelegator
        PATTERN = /\Acache_.*\.active_support\z/
        SUBSCRIBERS = { "subscribed" => ->(_name, _start, _end, _id, _payload) {}, "event" => ->(_event) {} }.freeze

        # @param subscriber [String] one of {SUBSCRIBERS}
        def initialize(operation, subscriber = "subscribed")
          super(operation)
          @kind = subscriber
        end

        def name = "#{__getobj__.name}_#{@kind}"

        def phrase = "#{__getobj__.phrase} with a subscriber#{" to event objects" if @kind == "event"}"

        def enter
          @subscriber = ActiveSupport::Notifications.subscribe(PATTERN, SUBSCRIBERS.fetch(@kind))
        end

        def leave = ActiveSupport::Notifications.unsubscribe(@subscriber)
      end

      %w[read fetch write].each { |name| add Subscribed.new(fetch(name)) }
      %w[read fetch].each { |name| add Subscribed.new(fetch(name), "event") }
    end
  end
end
