# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Capabilities
        # Reads the open sockets, files and maps of processes from Linux (proc(5)).
        module Sockets
          TABLES = %w[/proc/self/net/tcp /proc/self/net/tcp6].freeze
          ESTABLISHED = "01"

          module_function

          # @param ports [Array<Integer>]
          # @return [Integer] TCP connections that this process holds to one of them
          def to_ports(ports)
            inodes = own_inodes
            TABLES.sum do |table|
              File.readlines(table).drop(1).map(&:split).count do |fields|
                fields[3] == ESTABLISHED && ports.include?(fields[2][/:(\h+)\z/, 1].hex) && inodes.include?(fields[9])
              end
            rescue SystemCallError
              0
            end
          end

          # @param path [String]
          # @return [Integer] bytes of all files below it
          def tree_bytes(path)
            Dir.glob("**/*", File::FNM_DOTMATCH, base: path).sum do |file|
              stat = File.lstat(File.join(path, file))
              stat.file? ? [stat.blocks.to_i * 512, stat.size].min : 0
            rescue SystemCallError
              0
            end
          end

          # @param folders [Array<String>]
          # @return [Array<String>] the folders with a file that this process has mapped
          def maps(folders)
            mapped = File.readlines("/proc/self/maps")
            folders.select { |folder| mapped.any? { |line| line.include?("#{folder}/") } }
          rescue SystemCallError
            []
          end

          def own_inodes
            Dir.glob("/proc/self/fd/*").filter_map do |link|
              File.readlink(link)[/\Asocket:\[(\d+)\]\z/, 1] if File.symlink?(link)
            end
          rescue SystemCallError
            []
          end
          private_class_method :own_inodes
        end
      end
    end
  end
end
