# frozen_string_literal: true

require_relative "support/strict_warnings"

require "minitest/autorun"
require "tiercel"
require "active_support"
require "active_support/error_reporter"

require_relative "support/assertions_required"
require_relative "support/test_case"
