# frozen_string_literal: true

require "digest"
require "fileutils"
require "rbconfig"
require_relative "../errors"

module Tiercel
  module Lab
    module Engine
      # The gems that a worker runs with: the lab's own bundle, or one of
      # `tiercel-lab/gemfiles/NAME.gemfile`, for gems that cannot live beside
      # the others (Litecache needs sqlite3 1.x). Such a bundle is installed on
      # first use into the user's cache folder.
      class Bundle
        FOLDER = File.expand_path("../../../../gemfiles", __dir__)

        # @return [String, nil]
        attr_reader :name

        # @param name [String, nil] of a gemfile in {FOLDER}, or the path of one; nil: the bundle that this process
        #   runs in
        def initialize(name)
          @name = name
        end

        # @return [String, nil] where its processes run; nil: where this one does
        def directory = nil

        # @return [Hash{String => String, nil}] environment for a worker
        def environment
          return own_environment unless name
          own_environment.merge("BUNDLE_GEMFILE" => gemfile, "RUBYOPT" => "-rbundler/setup", "RUBYLIB" => nil,
                                "BUNDLER_ORIG_BUNDLE_GEMFILE" => nil)
        end

        # Installs what is missing; asks nobody when nothing is.
        #
        # @param progress [#say] told before the installation begins
        # @return [void]
        # @raise [CannotRun] with what to type
        def install(progress: nil)
          return if name.nil?
          prepare_gemfile unless File.exist?(gemfile) && File.read(gemfile) == File.read(source)
          return if installed?
          progress&.say("installing the bundle #{name} (once)")
          log = File.join(folder, "install.log")
          return if system(clean_environment, bundler, "install", "--quiet", in: File::NULL, out: log, err: log)
          raise CannotRun, "the bundle #{name} could not be installed (#{File.readlines(log).last.to_s.strip}); " \
                           "see #{log}, or type: BUNDLE_GEMFILE=#{gemfile} bundle install"
        end

        # @return [Boolean]
        def installed?
          return true unless name
          File.exist?(gemfile) && File.read(gemfile) == File.read(source) &&
            system(clean_environment, bundler, "check", in: File::NULL, out: File::NULL, err: File::NULL)
        end

        private

        # Only what loads the bundle: options such as -w would slow and fill the workers.
        def own_environment
          options = ENV["RUBYOPT"].to_s.split.grep(/bundler/).join(" ")
          { "RUBYOPT" => options.empty? ? nil : options }
        end

        # Without what makes a Ruby load the bundle (BUNDLER_SETUP since Bundler 2.4), which is not there yet.
        def clean_environment
          { "BUNDLE_GEMFILE" => gemfile, "RUBYOPT" => nil, "RUBYLIB" => nil, "BUNDLER_SETUP" => nil }
        end

        def source
          path = File.absolute_path?(name) ? name : File.join(FOLDER, "#{name}.gemfile")
          raise CannotRun, "there is no bundle #{name.inspect} in #{File.dirname(path)}" unless File.exist?(path)
          path
        end

        def prepare_gemfile
          FileUtils.mkdir_p(folder)
          FileUtils.cp(source, gemfile)
        end

        # The lock file is written beside it, so it lies where the user may write.
        def gemfile = File.join(folder, "Gemfile")

        def folder
          caches = ENV.fetch("XDG_CACHE_HOME") { File.expand_path("~/.cache") }
          File.join(caches, "tiercel-lab", "bundles", "#{label}-#{RUBY_VERSION}-#{RbConfig::CONFIG["arch"]}")
        end

        # Two gemfiles of one name in different folders are two bundles.
        def label
          return name unless File.absolute_path?(name)
          "#{File.basename(name, ".gemfile")}-#{Digest::SHA256.hexdigest(name)[0, 8]}"
        end

        def bundler = File.join(RbConfig::CONFIG["bindir"], "bundle")
      end
    end
  end
end
