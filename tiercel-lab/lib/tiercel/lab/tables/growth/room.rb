# frozen_string_literal: true

require "open3"

module Tiercel
  module Lab
    module Tables
      module Growth
        # The room that this machine has left for entries, examined before each store is filled.
        class Room
          # The share of free memory, and of free disk space, that entries may take.
          SHARE = 0.6

          # @param folders [Hash{String => String}] folders of the run, by medium
          # @param meminfo [String] path of the kernel's account
          def initialize(folders, meminfo: "/proc/meminfo")
            @folders = folders
            @meminfo = meminfo
          end

          # @param medium [Symbol] :memory, :tmpfs or :disk
          # @param bytes [Integer]
          # @return [String, nil] why it does not fit; nil if it does, or nothing is known
          def refusal(medium, bytes)
            free = free(medium) or return
            may = (free * SHARE).to_i
            return if bytes <= may
            "needs #{Report::Format.bytes(bytes)} of #{WORDS.fetch(medium)}, of which #{Report::Format.bytes(free)} " \
              "are free and #{(SHARE * 100).round} % may be taken"
          end

          WORDS = { memory: "memory", tmpfs: "memory and of the tmpfs", disk: "disk" }.freeze

          # @param medium [Symbol]
          # @return [Integer, nil] bytes; files on a tmpfs take memory too
          def free(medium)
            case medium
            when :memory then memory
            when :tmpfs then [memory, folder(@folders["tmpfs"] || @folders["disk"])].compact.min
            else folder(@folders["disk"])
            end
          end

          private

          def memory
            kilobytes = File.read(@meminfo)[/^MemAvailable:\s*(\d+) kB/, 1]
            kilobytes && (Integer(kilobytes) * 1024)
          rescue SystemCallError
            nil
          end

          def folder(path)
            out, status = Open3.capture2("df", "-Pk", path, err: File::NULL)
            kilobytes = out.lines[1].to_s.split[3]
            Integer(kilobytes) * 1024 if status.success? && kilobytes
          rescue SystemCallError
            nil
          end
        end
      end
    end
  end
end
