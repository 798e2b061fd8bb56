# frozen_string_literal: true

module Tiercel
  module Backends
    class SQLite < Backend
      # Where the file is: an absolute path, whatever the current folder becomes,
      # and the one that a symbolic link leads to. SQLite keeps the log beside the
      # file itself, so that a damaged one has to be renamed there, too.
      module Place
        # As many as Linux follows.
        LINKS = 40

        # @param path [String]
        # @return [String] in UTF-8, as SQLite takes it
        def self.of(path)
          place = ::File.expand_path(path)
          LINKS.times do
            break unless ::File.symlink?(place)
            place = ::File.expand_path(::File.readlink(place), ::File.dirname(place))
          end
          place.force_encoding(Encoding::UTF_8)
        end
      end
    end
  end
end
