# frozen_string_literal: true

require_relative "../contestant"

module Tiercel
  module Lab
    module Contestants
      # ActiveSupport::Cache::FileStore, on a tmpfs, on a disk, or in a folder of the user's (an NFS mount).
      class FileStore < Contestant
        # A tmpfs is memory: nothing waits.
        def medium = place == "tmpfs" ? :process : :disk

        def build(context) = ActiveSupport::Cache::FileStore.new(context.directory(place), **options)

        def configuration
          folder = %w[tmpfs disk].include?(place) || place.empty? ? "tmp/cache" : place
          configuration_line(":file_store", folder.inspect)
        end
      end

      register "file_store", FileStore
    end
  end
end
