# frozen_string_literal: true

require "io/wait"
require_relative "../operation"

module Tiercel
  module Lab
    module Operations
      # A hit through the public API.
      class Read < Operation
        called "read", "a hit"

        def body = "store.read(names[i])"

        def verify(arm) = arm.each_pair { |name, value| arm.expect(value, arm.store.read(name)) }
      end

      # The same while another process keeps writing other names into the same store (on another CPU, where there is
      # one).
      class ReadBesideWriter < Read
        called "read_beside_writer", "a hit while another process writes"

        # Between two writes of the other process.
        PAUSE_SECONDS = 0.0002

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

        def write_until_closed(arm, parent, child)
          # Those of the writers before it too: they end when the last holder closes.
          [child, *(@writers || []).map(&:last)].each(&:close)
          index = 0
          until parent.wait_readable(PAUSE_SECONDS)
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
    end
  end
end
