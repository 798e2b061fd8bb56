# frozen_string_literal: true

require "fileutils"
require "tmpdir"
require_relative "../folder"
require_relative "../user_folders"

module Tiercel
  module Lab
    module Engine
      # The temporary folders of a run, one on a tmpfs and one on a disk. The run removes them at its end, and the
      # folders of killed runs at its start.
      class Scratch
        NAME = "tiercel-lab-run"
        TMPFS = "/dev/shm"

        # @return [Hash{String => String}] by medium: "tmpfs" (if the machine has one) and "disk"
        attr_reader :folders

        # @param tmpfs [String] a folder on a tmpfs; the variable TIERCEL_LAB_TMPFS overrides it
        # @param disk [String] a folder on a disk; the variable TIERCEL_LAB_DISK overrides it
        # @raise [UsageError] if the disk's folder cannot be created, or the variable's tmpfs does not exist
        def initialize(tmpfs: tmpfs_folder, disk: ENV.fetch("TIERCEL_LAB_DISK") { UserFolders.cache })
          make(disk)
          @folders = { "tmpfs" => tmpfs, "disk" => disk }.filter_map do |medium, folder|
            next unless File.directory?(folder) && File.writable?(folder)
            sweep(folder)
            [medium, Dir.mktmpdir("#{NAME}-#{Process.pid}-", folder)]
          end.to_h
        end

        # @return [void]
        def remove = folders.each_value { |folder| FileUtils.rm_rf(folder) }

        private

        def tmpfs_folder
          named = ENV.fetch("TIERCEL_LAB_TMPFS", nil)
          named ? Folder.check("TIERCEL_LAB_TMPFS", named) : TMPFS
        end

        # By default the user's cache folder, because the temporary folder is a tmpfs on many machines.
        def make(disk)
          FileUtils.mkdir_p(disk)
        rescue SystemCallError => e
          raise UsageError, "the folder #{disk} cannot be created: #{Folder.reason(e)}; TIERCEL_LAB_DISK names another"
        end

        def sweep(folder)
          Dir.glob(File.join(folder, "#{NAME}-*")).each do |path|
            pid = File.basename(path)[/\A#{NAME}-(\d+)-/o, 1].to_i
            FileUtils.rm_rf(path) if pid.positive? && gone?(pid)
          end
        end

        def gone?(pid)
          Process.kill(0, pid)
          false
        rescue Errno::ESRCH
          true
        rescue Errno::EPERM
          false
        end
      end
    end
  end
end
