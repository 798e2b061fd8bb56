# frozen_string_literal: true

require_relative "../clock"

module Tiercel
  module Clock
    # Notices when something takes the place of `Time.now`: travel_to, Timecop, the stubs of test frameworks. As long as
    # nothing does, C may read the machine's clock by itself, at a tenth of what the call costs.
    #
    # Ruby tells Time when a singleton method is defined in it, or goes; its singleton class tells of modules that are
    # prepended, and those of their methods. So nothing has to be asked at each read, and no patch comes too late.
    #
    # @private
    module Patches
      @listeners = []

      class << self
        # @yieldparam original [Boolean] whether `Time.now` is Ruby's own: at once, and whenever that may have changed
        # @return [void]
        def watch(&listener)
          notice if @listeners.empty?
          @listeners << listener
          listener.call(original?)
        end

        # Looks again.
        #
        # @return [nil]
        def recheck
          notice
          original = original?
          @listeners.each { |listener| listener.call(original) }
          nil
        end

        # @return [Boolean]
        def original?
          method = Time.singleton_class.instance_method(:now)
          method.owner == Time.singleton_class && method.name == method.original_name &&
            method.source_location&.first.to_s.start_with?("<internal:")
        rescue NameError # while it is undefined
          false
        end

        private

        # Modules that stand in front of Time's own methods, and may get methods later, are told of too.
        def notice
          own = Time.singleton_class
          place(own, NoticingSingletons)
          place(own.singleton_class, NoticingModules)
          (own.ancestors.take_while { |mod| mod != own } - [NoticingSingletons]).each do |mod|
            place(mod.singleton_class, NoticingModules, NoticingMethods) unless mod.frozen?
          end
        end

        def place(owner, *modules)
          modules.each { |mod| owner.prepend(mod) unless owner.include?(mod) }
        end
      end

      # For Time: tells of its singleton methods.
      module NoticingSingletons
        private

        def singleton_method_added(name) = (Patches.recheck if name == :now) || super
        def singleton_method_removed(name) = (Patches.recheck if name == :now) || super
        def singleton_method_undefined(name) = (Patches.recheck if name == :now) || super
      end

      # For its singleton class, and for modules before it: tells of further ones.
      module NoticingModules
        # See Module#prepend.
        def prepend(*) = super.tap { Patches.recheck }

        # See Module#include.
        def include(*) = super.tap { Patches.recheck }
      end

      # For modules before it: tells of their methods.
      module NoticingMethods
        private

        def method_added(name) = (Patches.recheck if name == :now) || super
        def method_removed(name) = (Patches.recheck if name == :now) || super
        def method_undefined(name) = (Patches.recheck if name == :now) || super
      end
    end

    Patches.watch { |original| Clock.original = original }
  end
end
